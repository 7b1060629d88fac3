import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** What plugins and their tests may import, and the declarations behind it. */
export interface PublicDeclarations {
  /**
   * The `exports` of package.json that are TypeScript: `agent-gateway/testing` by the file, `testing/index.ts`. In the
   * order of package.json.
   */
  readonly entries: ReadonlyMap<string, string>;
  /** The sources, unchecked, with a checker that knows which name is exported from where. */
  readonly program: ts.Program;
  /** The text of each declaration file (`kernel/api/scope.d.ts`), with docblocks, by its path from the repository. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * The declarations of all public modules, made once for everything that is generated from them. Types alone are
 * written, and nothing is checked: `npm run types` does that.
 *
 * @throws Error when the declarations cannot be made.
 */
export function publicDeclarations(root: string): PublicDeclarations {
  const entries = publicModules(root);
  const { options } = ts.convertCompilerOptionsFromJson(compilerOptions(root), root);
  const program = ts.createProgram(
    [...entries.values()].map((file) => path.join(root, file)),
    {
      ...options,
      noEmit: false,
      noCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: root,
      outDir: root,
    },
  );
  const texts = new Map<string, string>();
  const { diagnostics } = program.emit(undefined, (file, text) => texts.set(path.relative(root, file), text));
  const problems = diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return { entries, program, texts };
}

/** The compiler options of the repository, as JSON. */
export function compilerOptions(root: string): unknown {
  return ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile).config.compilerOptions;
}

function publicModules(root: string): ReadonlyMap<string, string> {
  const { name, exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, string>;
  };
  const modules = Object.entries(exports).filter(([, file]) => file.endsWith('.ts'));
  return new Map(modules.map(([place, file]) => [path.posix.join(name, place), path.posix.normalize(file)]));
}
