import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { within } from '../../foundation/base/deadline.ts';
import type { Plugin } from '../api/plugin.ts';
import { codeFingerprint } from './code-fingerprint.ts';
import { isOutside, ofGeneration, resolveKernelForPlugins } from './resolve-hook.ts';

/** The folders of plugins, and the code in them. */
export class PluginFolders {
  readonly folders: readonly string[];
  readonly #generations = new Map<string, number>();
  readonly #imported = new Map<string, string | undefined>();

  constructor(folders: readonly string[]) {
    this.folders = folders;
  }

  /** What is there now, by name. @throws Error naming a folder that cannot be read. */
  sources(): Promise<ReadonlyMap<string, PluginSource>> {
    return findPluginSources(this.folders);
  }

  /** Imports the plugins that may run, side by side. One that cannot be loaded is reported and hinders no other. */
  async loadAll(mayRun: (name: string) => boolean = () => true): Promise<readonly (Discovered | Unloaded)[]> {
    const sources = [...(await this.sources()).values()];
    return Promise.all(
      sources.map(async (source) => {
        if (mayRun(source.name) || source.takenBy !== undefined) return this.#import(source);
        // Known, so that it is no new folder.
        this.#imported.set(source.name, await codeFingerprint(source.folder));
        return { name: source.name, folder: source.folder };
      }),
    );
  }

  /** Imports a plugin's code anew; `undefined` when no folder holds it. */
  async load(name: string): Promise<Discovered | undefined> {
    const source = (await this.sources()).get(name);
    return source && this.#import(source);
  }

  /** True when the code is not what was imported last. */
  async isEdited(name: string): Promise<boolean> {
    const source = (await this.sources()).get(name);
    return source !== undefined && (await codeFingerprint(source.folder)) !== this.#imported.get(name);
  }

  /** The state of each plugin's code when it was imported last (see `codeFingerprint`). */
  imported(): ReadonlyMap<string, string | undefined> {
    return this.#imported;
  }

  /** How often the code of each plugin was imported. Node keeps every generation until the process ends. */
  generations(): ReadonlyMap<string, number> {
    return this.#generations;
  }

  async #import(source: PluginSource): Promise<Discovered> {
    // Before the import: what is edited meanwhile counts as edited.
    this.#imported.set(source.name, await codeFingerprint(source.folder));
    const generation = this.#generations.get(source.name) ?? 0;
    this.#generations.set(source.name, generation + 1);
    return loadPlugin(source, generation);
  }
}

/** A plugin that was found: its definition, or why there is none. */
export type Discovered =
  | {
      readonly name: string;
      readonly folder: string;
      readonly plugin: Plugin;
      /** Counts the times that its code was imported; the first is 0. */
      readonly generation?: number;
    }
  | { readonly name: string; readonly folder: string; readonly error: Error };

/** A plugin whose code was not imported, since it does not run: all that is known is its folder. */
export interface Unloaded {
  readonly name: string;
  readonly folder: string;
}

const NAME = /^[a-z][a-z0-9-]*$/;
/** Milliseconds that the modules of a plugin may take to run. */
const IMPORT_TIMEOUT = 30_000;

/**
 * Imports a plugin's code: its whole module graph anew with each generation, the kernel and npm packages excepted. One that
 * cannot be imported, or exports no definition of its folder's name, is told by its `error`.
 */
export async function loadPlugin(source: PluginSource, generation: number): Promise<Discovered> {
  const { name, folder, file, takenBy } = source;
  try {
    if (takenBy !== undefined) throw new Error(`the name is taken by ${takenBy}`);
    if (generation > 0 || isOutside(await realpath(file))) resolveKernelForPlugins();
    const url = pathToFileURL(file).href;
    const imported: Promise<{ default?: unknown }> = import(
      generation === 0 ? url : ofGeneration(url, generation)
    );
    const module = await within(IMPORT_TIMEOUT, `importing ${file}`, imported);
    return { name, folder, plugin: checkDefinition(module.default, name), generation };
  } catch (cause) {
    return { name, folder, error: cause instanceof Error ? cause : new Error(String(cause)) };
  }
}

function checkDefinition(exported: unknown, name: string): Plugin {
  if (typeof exported !== 'object' || exported === null || typeof (exported as Plugin).setup !== 'function') {
    throw new Error(
      'plugin.ts has no definition as its default export: write `export default definePlugin({ … })`',
    );
  }
  const plugin = exported as Plugin;
  if (!NAME.test(plugin.name)) throw new Error(`"${plugin.name}" is not a plugin name: use [a-z][a-z0-9-]*`);
  if (plugin.name !== name)
    throw new Error(`the folder ${name} holds a plugin that calls itself ${plugin.name}`);
  return plugin;
}

/** Where the code of a plugin lies. */
interface PluginSource {
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
