import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { within } from '../base/deadline.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { admitPackage, isOutside, ofGeneration, resolveKernelForPlugins } from './resolve-hook.ts';

/** Where the code of a plugin lies. */
export interface CodeSource {
  /** Name of the folder; of a second folder with a taken name, with its path. */
  readonly name: string;
  readonly folder: string;
  /** `plugin.ts` or `plugin.js` in it; of a package, what its package.json exports. */
  readonly file: string;
  /** The folder that has the name already: this one is reported and not loaded. */
  readonly takenBy?: string;
  /** Of a plugin that gateway.yaml names by its package or its path. */
  readonly declared?: Declared;
}

/** What gateway.yaml says about where a plugin's code is. */
interface Declared {
  /** `gateway.yaml:3: plugins.notes.package`. */
  readonly at: string;
  /** `@acme/gateway-plugin-notes`, or the path. */
  readonly place: string;
  /** As its package.json states it. */
  readonly version?: string;
  /** Why it is not loaded. */
  readonly problem?: string;
}

/**
 * Finds the plugin folders (those with a `plugin.ts` or `plugin.js`) below `folders`, by name. Of two with one name the
 * first is taken.
 *
 * @throws ConfigurationError naming the folder: one that was asked for and is not there, or is a plugin itself, is a
 * mistake in the configuration.
 */
export async function findSources(folders: readonly string[]): Promise<ReadonlyMap<string, CodeSource>> {
  const sources = new Map<string, CodeSource>();
  for (const folder of folders) {
    const itself = await entryFile(folder);
    if (itself !== undefined) {
      const above = path.dirname(path.resolve(folder));
      const message = `${folder} is a plugin itself (${itself}): name the folder that holds it, ${above}`;
      throw new ConfigurationError([{ name: 'SVC_PLUGIN_DIRS', message }]);
    }
    for (const entry of await entriesOf(folder)) {
      const directory = path.resolve(folder, entry);
      const file = await entryFile(directory);
      if (file === undefined) continue;
      const first = sources.get(entry);
      const name = first === undefined ? entry : `${entry} (${directory})`;
      const taken = first === undefined ? {} : { takenBy: first.folder };
      sources.set(name, { name, folder: directory, file, ...taken });
    }
  }
  return sources;
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `the plugin folder ${folder} cannot be read (${code})`;
    throw new ConfigurationError([{ name: 'SVC_PLUGIN_DIRS', message }], { cause });
  }
}

/** The `plugin.ts` or `plugin.js` of a folder. */
export async function entryFile(directory: string): Promise<string | undefined> {
  for (const name of ['plugin.ts', 'plugin.js']) {
    const file = path.join(directory, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) return file;
  }
  return undefined;
}

/** Milliseconds that the modules of a plugin may take to run. */
const IMPORT_TIMEOUT = 30_000;

/**
 * Imports the code of a source: its whole module graph again for each generation, except the kernel and npm packages
 * other than its own.
 *
 * @returns its default export
 * @throws what the import throws, or an Error after 30 s
 */
export async function importSource(source: CodeSource, generation: number): Promise<unknown> {
  const { folder, file, declared } = source;
  if (declared !== undefined) admitPackage(await realpath(folder));
  // Node would remember where a link led at the first import.
  const real = await realFile(source);
  if (generation > 0 || isOutside(real)) resolveKernelForPlugins();
  const url = pathToFileURL(real).href;
  const imported: Promise<{ default?: unknown }> = import(
    generation === 0 ? url : ofGeneration(url, generation)
  );
  return (await within(IMPORT_TIMEOUT, `importing ${file}`, imported)).default;
}

async function realFile({ file, declared }: CodeSource): Promise<string> {
  try {
    return await realpath(file);
  } catch (cause) {
    if (declared === undefined || (cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    const advice = 'build it (npm run build), or run its sources with "path" in the place of "package"';
    throw new Error(`its package.json exports ${file}, which is not there: ${advice}`, { cause });
  }
}
