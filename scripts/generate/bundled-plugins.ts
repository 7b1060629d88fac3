import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from '../../kernel/api/plugin.ts';

/**
 * The plugins of a folder, by name; none when the folder is missing. A plugin that cannot be imported fails the script.
 */
export async function loadBundledPlugins(folder: string): Promise<Plugin[]> {
  if (!existsSync(folder)) return [];
  const plugins: Plugin[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const file = path.join(folder, name, 'plugin.ts');
    if (!existsSync(file)) continue;
    const module = (await import(pathToFileURL(file).href)) as { default: Plugin };
    plugins.push(module.default);
  }
  return plugins;
}
