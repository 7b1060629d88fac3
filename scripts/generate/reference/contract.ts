import path from 'node:path';
import ts from 'typescript';
import type { PublicDeclarations } from '../public-declarations.ts';
import {
  type DeclarationIndex,
  type Declared,
  declarationIndex,
  declaredNames,
  keyOf,
} from './declaration-index.ts';
import { docblockOf } from './docblock.ts';
import { mentionedBy } from './mentioned.ts';
import { type PagePlan, pageOf, pagePlans } from './pages.ts';

/** A page with what is on it. */
export interface ReferencePage extends PagePlan {
  readonly exported: readonly DocumentedName[];
  /** Names that another module declares and exports, and that this one exports as well. */
  readonly borrowed: readonly DocumentedName[];
  /** Types without a name to import, which declarations of the page mention. */
  readonly mentioned: readonly DocumentedName[];
}

/** A name of the reference. */
export interface DocumentedName extends Declared {
  /** Of its declaration in `file`, from 1. */
  readonly line: number;
  readonly statements: readonly ts.Statement[];
}

/** The pages of the reference, and the index that they were made with. */
export interface PublicContract {
  readonly index: DeclarationIndex;
  /** A line each, with file and line number: exports without a docblock, and exports that no page takes. */
  readonly problems: readonly string[];
  readonly pages: readonly ReferencePage[];
}

/** What plugins may import, page by page, and what is missing there. */
export function publicContract(declarations: PublicDeclarations, root: string): PublicContract {
  const index = declarationIndex(declarations);
  const plans = pagePlans(declarations.entries);
  const exported = new Map<PagePlan, (DocumentedName & { rank: number })[]>(plans.map((plan) => [plan, []]));
  const borrowed = new Map<PagePlan, DocumentedName[]>(plans.map((plan) => [plan, []]));
  const problems: string[] = [];
  const document = (declared: Declared): DocumentedName => ({
    ...declared,
    line: lineOf(declarations.program, root, declared),
    statements: index.statementsOf(declared),
  });

  for (const [entry, file] of declarations.entries) {
    for (const declared of index.exportsOf(file).values()) {
      const name = document(declared);
      const page = pageOf(plans, declared.file);
      const where = `${name.file}:${name.line}: ${name.name}, which ${entry} exports,`;
      if (!name.statements.some((statement) => docblockOf(statement)?.text))
        problems.push(`${where} has no docblock`);
      if (page?.plan.entry === entry) exported.get(page.plan)?.push({ ...name, rank: page.rank });
      else if (
        page !== undefined &&
        index.exportsOf(declarations.entries.get(page.plan.entry) as string).has(name.name)
      )
        borrowed.get(plans.find((plan) => plan.entry === entry) as PagePlan)?.push(name);
      else
        problems.push(`${where} belongs to no page of the reference (scripts/generate/reference/pages.ts)`);
    }
  }
  const taken = new Set([...exported.values()].flat().map(keyOf));
  return {
    index,
    problems: [...new Set(problems)],
    pages: plans.map((plan) => {
      const names = (exported.get(plan) ?? []).sort((a, b) => a.rank - b.rank || compare(a, b));
      const mentioned = mentionedBy(index, names, taken).map(document).sort(compare);
      return { ...plan, exported: names, borrowed: (borrowed.get(plan) ?? []).sort(compare), mentioned };
    }),
  };
}

function compare(a: DocumentedName, b: DocumentedName): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || (a.name < b.name ? -1 : 1);
}

function lineOf(program: ts.Program, root: string, { file, name }: Declared): number {
  const source = program.getSourceFile(path.join(root, file));
  const statement = source?.statements.find((statement) =>
    ts.isExportDeclaration(statement)
      ? exportedNames(statement).includes(name)
      : declaredNames(statement).includes(name),
  );
  if (source === undefined || statement === undefined) return 1;
  return source.getLineAndCharacterOfPosition(statement.getStart(source)).line + 1;
}

function exportedNames({ exportClause }: ts.ExportDeclaration): readonly string[] {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [];
  return exportClause.elements.map(({ name }) => name.text);
}
