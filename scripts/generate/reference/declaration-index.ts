import path from 'node:path';
import ts from 'typescript';
import type { PublicDeclarations } from '../public-declarations.ts';

/** Where a name is declared. */
export interface Declared {
  /** From the repository: `kernel/api/scope.ts`. */
  readonly file: string;
  readonly name: string;
}

/** One text for one declaration. */
export function keyOf({ file, name }: Declared): string {
  return `${file}#${name}`;
}

/** Finds names in the declaration files, by their imports and exports. */
export interface DeclarationIndex {
  /** What a file exports, by its name there. */
  exportsOf(file: string): ReadonlyMap<string, Declared>;
  /** What a name means inside a file; undefined for what belongs to the language or to a package. */
  resolve(file: string, name: string): Declared | undefined;
  /** What `import('<module>').<name>` means inside a file. */
  resolveImport(file: string, module: string, name: string): Declared | undefined;
  /**
   * The statements that declare it; several of a function with overloads. Of what comes from a package it is the
   * export.
   */
  statementsOf(declared: Declared): readonly ts.Statement[];
}

/** What one file says. Of `* from` the names are those of the other file. */
interface FileNames {
  readonly local: Map<string, ts.Statement[]>;
  readonly exported: Set<string>;
  readonly from: Map<string, { readonly module: string; readonly name: string }>;
  readonly reexported: Map<string, { readonly module: string; readonly name: string }>;
  readonly stars: string[];
}

/** An index of declaration files, each of which is read when it is first asked for. */
export function declarationIndex({ entries, texts }: PublicDeclarations): DeclarationIndex {
  const files = new Map<string, FileNames>();

  function namesOf(file: string): FileNames | undefined {
    const known = files.get(file);
    if (known !== undefined) return known;
    const text = texts.get(file.replace(/\.ts$/, '.d.ts'));
    if (text === undefined) return undefined;
    const names = readNames(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
    files.set(file, names);
    return names;
  }

  /** The file of the repository that a specifier means. */
  function fileOf(file: string, module: string): string | undefined {
    return module.startsWith('.') ? path.posix.join(path.posix.dirname(file), module) : entries.get(module);
  }

  function follow(file: string, { module, name }: { module: string; name: string }): Declared | undefined {
    const target = fileOf(file, module);
    return target === undefined ? undefined : exported(target, name);
  }

  function exported(file: string, name: string): Declared | undefined {
    const names = namesOf(file);
    if (names === undefined) return undefined;
    if (names.local.has(name)) return { file, name };
    const elsewhere = names.reexported.get(name) ?? names.from.get(name);
    if (elsewhere !== undefined) return follow(file, elsewhere);
    for (const module of names.stars) {
      const found = follow(file, { module, name });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  function exportsOf(file: string): ReadonlyMap<string, Declared> {
    const names = namesOf(file);
    if (names === undefined) throw new Error(`${file} has no declarations`);
    const found = new Map<string, Declared>();
    for (const name of names.exported) {
      const declared = exported(file, name);
      if (declared === undefined) throw new Error(`${file} exports ${name}, which is nowhere declared`);
      found.set(name, declared);
    }
    for (const module of names.stars) {
      const target = fileOf(file, module);
      if (target !== undefined) for (const [name, declared] of exportsOf(target)) found.set(name, declared);
    }
    return found;
  }

  return {
    exportsOf,
    resolve: exported,
    resolveImport: (file, module, name) => follow(file, { module, name }),
    statementsOf: ({ file, name }) => namesOf(file)?.local.get(name) ?? [],
  };
}

function readNames(source: ts.SourceFile): FileNames {
  const names: FileNames = {
    local: new Map(),
    exported: new Set(),
    from: new Map(),
    reexported: new Map(),
    stars: [],
  };
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) readImport(statement, names);
    else if (ts.isExportDeclaration(statement)) readExport(statement, names);
    else {
      for (const name of declaredNames(statement)) {
        names.local.set(name, [...(names.local.get(name) ?? []), statement]);
        if (isExported(statement)) names.exported.add(name);
      }
    }
  }
  return names;
}

function readImport({ importClause, moduleSpecifier }: ts.ImportDeclaration, { from }: FileNames): void {
  const bindings = importClause?.namedBindings;
  if (bindings === undefined || !ts.isNamedImports(bindings)) return;
  for (const { name, propertyName } of bindings.elements)
    from.set(name.text, { module: textOf(moduleSpecifier), name: (propertyName ?? name).text });
}

function readExport(statement: ts.ExportDeclaration, names: FileNames): void {
  const { exportClause, moduleSpecifier } = statement;
  const module = moduleSpecifier === undefined ? undefined : textOf(moduleSpecifier);
  if (exportClause === undefined) {
    if (module !== undefined) names.stars.push(module);
  } else if (ts.isNamedExports(exportClause)) {
    for (const { name, propertyName } of exportClause.elements) {
      names.exported.add(name.text);
      if (module?.startsWith('.'))
        names.reexported.set(name.text, { module, name: (propertyName ?? name).text });
      else if (module !== undefined) names.local.set(name.text, [statement]);
    }
  }
}

/** The names that a statement declares: one, but of `const a, b`. */
export function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function textOf(specifier: ts.Expression): string {
  return ts.isStringLiteral(specifier) ? specifier.text : '';
}
