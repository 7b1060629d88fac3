import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from '../api/plugin.ts';
import { resolveKernelForPlugins } from './resolve-hook.ts';

/** A plugin that was found: its definition, or why there is none. */
export type Discovered =
  | { readonly name: string; readonly folder: string; readonly plugin: Plugin }
  | { readonly name: string; readonly folder: string; readonly error: Error };

const NAME = /^[a-z][a-z0-9-]*$/;

/**
 * Imports `<folder>/<name>/plugin.ts` (or `.js`) of every plugin folder below `folders`. One that cannot be imported, or
 * does not export a definition of its folder's name, is reported and hinders no other.
 */
export async function discoverPlugins(folders: readonly string[]): Promise<readonly Discovered[]> {
  resolveKernelForPlugins();
  const found: Discovered[] = [];
  for (const folder of folders) {
    for (const entry of await entriesOf(folder)) {
      const directory = path.resolve(folder, entry);
      const file = await entryFile(directory);
      if (file !== undefined) found.push(await load(entry, directory, file));
    }
  }
  return withoutDoubles(found);
}

/** @throws Error naming the folder: a folder that was asked for and is not there is a mistake in the configuration. */
async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
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

async function load(name: string, folder: string, file: string): Promise<Discovered> {
  try {
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
    return { name, folder, plugin: checkDefinition(module.default, name) };
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

/** The first folder wins; the second one with the same name is reported under its path. */
function withoutDoubles(found: readonly Discovered[]): readonly Discovered[] {
  const first = new Map<string, Discovered>();
  const doubles: Discovered[] = [];
  for (const one of found) {
    const earlier = first.get(one.name);
    if (earlier === undefined) first.set(one.name, one);
    else
      doubles.push({
        name: `${one.name} (${one.folder})`,
        folder: one.folder,
        error: new Error(`the name is taken by ${earlier.folder}`),
      });
  }
  return [...first.values(), ...doubles];
}
