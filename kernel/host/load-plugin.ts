import { realpath } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { within } from '../../foundation/base/deadline.ts';
import type { Plugin } from '../api/plugin.ts';
import type { PluginSource } from './plugin-source.ts';
import { isOutside, ofGeneration, resolveKernelForPlugins } from './resolve-hook.ts';

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
