import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { packageManifest } from './manifest.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Folders whose code runs in an installed gateway. */
const CODE = ['cli', 'foundation', 'kernel', 'plugins', 'testing'];
/** Files for readers, and for editors. */
const BESIDE = ['LICENSE', 'README.md', 'CHANGELOG.md', 'docs', 'schemas'];

/**
 * Makes the package `agent-gateway` in `folder`, which is emptied first: the files of the repository at their places,
 * TypeScript as JavaScript of the same lines and columns, declarations of what the `exports` lead to, and a
 * `package.json` of its own. Node strips no types below `node_modules`.
 *
 * @throws Error when the declarations cannot be made
 */
export async function buildPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const exported = await contracts();
  for (const part of CODE) for (const file of await filesBelow(part)) await place(file, folder);
  for (const part of BESIDE) for (const file of await filesBelow(part)) await copy(file, folder);
  const imported = await writeDeclarations(folder, ['kernel/index.ts', 'testing/index.ts', ...exported]);
  const own = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
  await write(
    path.join(folder, 'package.json'),
    `${JSON.stringify(packageManifest(own, imported), null, 2)}\n`,
  );
}

/** The files in which plugins declare what other plugins may import of them. */
async function contracts(): Promise<readonly string[]> {
  const files = await filesBelow('plugins');
  return files.filter((file) => /^plugins\/[^/]+\/contract\.ts$/.test(file));
}

/** Paths from the repository's folder; `part` may be a file. */
async function filesBelow(part: string): Promise<readonly string[]> {
  const entries = await readdir(path.join(ROOT, part), { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOTDIR') return undefined;
      throw error;
    },
  );
  if (entries === undefined) return [part];
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name))).sort();
}

async function place(file: string, folder: string): Promise<void> {
  if (file.endsWith('.d.ts')) return;
  if (!/\.[jt]s$/.test(file)) return copy(file, folder);
  const source = await readFile(path.join(ROOT, file), 'utf8');
  const code = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  await write(path.join(folder, file.replace(/\.ts$/, '.js')), importingJavaScript(code));
}

async function copy(file: string, folder: string): Promise<void> {
  const target = path.join(folder, file);
  await mkdir(path.dirname(target), { recursive: true });
  // With its mode: the command stays executable.
  await copyFile(path.join(ROOT, file), target);
}

/** The same text, with every relative import of a `.ts` file naming the `.js` file that it becomes. */
function importingJavaScript(text: string): string {
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return [...importedFiles].reverse().reduce((done, { fileName, pos }) => {
    if (!fileName.startsWith('.') || !fileName.endsWith('.ts')) return done;
    // The position is that of the quotation mark.
    const begin = pos + text.slice(pos).search(/\.ts['"`]/);
    return `${done.slice(0, begin)}.js${done.slice(begin + 3)}`;
  }, text);
}

/** Writes the declarations of `entries` and of all that they lead to. Returns the packages that these mention. */
async function writeDeclarations(folder: string, entries: readonly string[]): Promise<ReadonlySet<string>> {
  const { config } = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  const program = ts.createProgram(
    entries.map((file) => path.join(ROOT, file)),
    {
      ...options,
      noEmit: false,
      // `npm run types` does that.
      noCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: ROOT,
      outDir: folder,
    },
  );
  const imported = new Set<string>();
  const writing: Promise<void>[] = [];
  const { diagnostics } = program.emit(undefined, (file, text) => {
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      if (!fileName.startsWith('.')) imported.add(fileName);
    }
    writing.push(write(file, importingJavaScript(text)));
  });
  await Promise.all(writing);
  const problems = diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return imported;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}
