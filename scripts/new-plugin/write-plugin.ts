import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inWords } from './names.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEMPLATE = fileURLToPath(new URL('./template', import.meta.url));
const BIOME = path.join(ROOT, 'node_modules', '.bin', 'biome');
const TEST = 'plugin.test.ts';
/** As it is called among the tests of this project: the conformance suite looks at its whole process. */
const BUNDLED_TEST = 'plugin.alone.test.ts';

/** What was written; paths are relative to the working directory. */
export interface WrittenPlugin {
  readonly folder: string;
  /** Its test, where the test runner of this project runs it. */
  readonly test: string | undefined;
}

/**
 * Writes a plugin of that name: into `dir`, or into the bundled plugins with its test beside the others'. It appears whole,
 * in one move: a running gateway that watches the folder never sees half of it.
 *
 * @throws Error for a name that is none or is taken.
 */
export async function writePlugin(name: string, dir: string | undefined): Promise<WrittenPlugin> {
  const words = inWords(name);
  const parent = path.resolve(dir ?? path.join(ROOT, 'plugins'));
  const folder = path.join(parent, name);
  if ((await stat(folder).catch(() => undefined)) !== undefined)
    throw new Error(`${folder} is there already`);
  await mkdir(parent, { recursive: true });
  const staging = path.join(parent, `.new-${name}-${process.pid}`);
  try {
    await cp(TEMPLATE, staging, { recursive: true });
    await fill(staging, words);
    const test = dir === undefined ? await moveTest(staging, name) : undefined;
    if (dir !== undefined) await rm(path.join(staging, TEST));
    await rename(staging, folder);
    // Longer and shorter names break lines elsewhere, and sort elsewhere.
    if (test !== undefined) await promisify(execFile)(BIOME, ['check', '--write', folder, test]);
    return { folder: path.relative(process.cwd(), folder) || '.', test };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Replaces the template's names in every file, and in the files' own names. */
async function fill(folder: string, words: Readonly<Record<string, string>>): Promise<void> {
  const replace = (text: string) =>
    Object.entries(words).reduce((done, [from, to]) => done.replaceAll(from, to), text);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    await writeFile(file, replace(await readFile(file, 'utf8')));
    if (replace(entry.name) !== entry.name)
      await rename(file, path.join(entry.parentPath, replace(entry.name)));
  }
}

/** The test of a bundled plugin lies with the others, and imports the plugin from there. */
async function moveTest(staging: string, name: string): Promise<string> {
  const target = path.join(ROOT, 'test', 'plugins', name, BUNDLED_TEST);
  const text = await readFile(path.join(staging, TEST), 'utf8');
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, text.replaceAll(/'\.\/(\w+)\.ts'/g, `'../../../plugins/${name}/$1.ts'`));
  await rm(path.join(staging, TEST));
  return path.relative(process.cwd(), target);
}
