import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** Where the code of a plugin lies. */
export interface PluginSource {
  /** Name of the folder; of a second folder with a taken name, with its path. */
  readonly name: string;
  readonly folder: string;
  /** `plugin.ts` or `plugin.js` in it. */
  readonly file: string;
  /** The folder that has the name already: this one is reported and not loaded. */
  readonly takenBy?: string;
}

/**
 * Finds the plugin folders (those with a `plugin.ts` or `plugin.js`) below `folders`, by name. Of two with one name the
 * first is taken.
 *
 * @throws Error naming the folder: one that was asked for and is not there is a mistake in the configuration.
 */
export async function findPluginSources(
  folders: readonly string[],
): Promise<ReadonlyMap<string, PluginSource>> {
  const sources = new Map<string, PluginSource>();
  for (const folder of folders) {
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
    throw new Error(`the plugin folder ${folder} cannot be read (${code}); see SVC_PLUGIN_DIRS`, { cause });
  }
}

async function entryFile(directory: string): Promise<string | undefined> {
  for (const name of ['plugin.ts', 'plugin.js']) {
    const file = path.join(directory, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) return file;
  }
  return undefined;
}
