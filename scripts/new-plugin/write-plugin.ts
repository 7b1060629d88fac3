import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isPart, withFeatures } from './features.ts';
import { inWords } from './names.ts';
import { type NewPlugin, packageJson } from './package-json.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEMPLATE = fileURLToPath(new URL('./template', import.meta.url));
/** The files that a package has in addition to its code. */
const PACKAGE = fileURLToPath(new URL('./package', import.meta.url));
const BIOME = path.join(ROOT, 'node_modules', '.bin', 'biome');
const TEST = 'plugin.test.ts';
/** The same test for the test runner of Node, which a package can use without installing one. */
const NODE_TEST = 'node.test.ts';
/** The test's name among those of this project: the conformance suite observes its whole process, so it runs alone. */
const BUNDLED_TEST = 'plugin.alone.test.ts';

/** What was written; paths are relative to the working directory. */
export interface WrittenPlugin {
  readonly folder: string;
  /** The plugin's test, if the test runner of this project runs it. */
  readonly test: string | undefined;
}

/**
 * Writes a plugin of that name: as a package in `dir`, or into the bundled plugins with its test next to theirs. It
 * appears whole, in one move: a running gateway that watches the folder never sees half of it.
 *
 * @throws Error for a name that is invalid or taken.
 */
export async function writePlugin(wanted: NewPlugin): Promise<WrittenPlugin> {
  const { name, dir, features } = wanted;
  const words = inWords(name);
  const manifest = dir === undefined ? undefined : packageJson(wanted);
  const bundled = path.join(ROOT, 'plugins');
  const isTaken = dir !== undefined && (await exists(path.join(bundled, name, 'plugin.ts')));
  if (isTaken || name === 'kernel') throw new Error(`${name} comes with the gateway: choose another name`);
  const parent = path.resolve(dir ?? bundled);
  const folder = path.join(parent, name);
  if (await exists(folder)) throw new Error(`${folder} is there already`);
  await mkdir(parent, { recursive: true });
  const staging = path.join(parent, `.new-${name}-${process.pid}`);
  try {
    await cp(TEMPLATE, staging, {
      recursive: true,
      filter: (file) => isPart(path.relative(TEMPLATE, file), features),
    });
    const parts = manifest === undefined ? features : new Set([...features, 'package']);
    await fill(staging, { ...words, 'package-name': manifest?.name ?? '' }, parts);
    const test = manifest === undefined ? await moveTest(staging, name) : undefined;
    if (manifest !== undefined) await addPackage(staging, manifest);
    await rename(staging, folder);
    // Names that are longer or shorter than the template's change line breaks and the order of imports.
    if (test !== undefined) await promisify(execFile)(BIOME, ['check', '--write', folder, test]);
    return { folder: path.relative(process.cwd(), folder) || '.', test };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

/**
 * Replaces the template's names in every file, and in the files' own names, and removes the parts of features that were
 * not chosen.
 */
async function fill(
  folder: string,
  words: Readonly<Record<string, string>>,
  features: ReadonlySet<string>,
): Promise<void> {
  const replace = (text: string) =>
    Object.entries(words).reduce((done, [from, to]) => done.replaceAll(from, to), text);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const text = withFeatures(await readFile(file, 'utf8'), features, file.endsWith('.ts'));
    await writeFile(file, replace(text));
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
  await rm(path.join(staging, NODE_TEST));
  return path.relative(process.cwd(), target);
}

async function addPackage(staging: string, manifest: object): Promise<void> {
  await rename(path.join(staging, NODE_TEST), path.join(staging, TEST));
  await cp(PACKAGE, staging, { recursive: true });
  // Under that name the template's file would be a rule of this repository.
  await rename(path.join(staging, 'gitignore'), path.join(staging, '.gitignore'));
  await copyFile(path.join(ROOT, 'LICENSE'), path.join(staging, 'LICENSE'));
  await writeFile(path.join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
