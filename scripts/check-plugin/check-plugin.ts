import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findSources } from '../../foundation/code/code-sources.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { loadPlugin, PluginFolders } from '../../kernel/host/plugin-folders.ts';
import { BUNDLED_PLUGINS } from '../../kernel/version.ts';
import { type ConformanceOptions, pluginConformance } from '../../testing/index.ts';

/** What came of one check. */
export interface CheckResult {
  readonly title: string;
  /** What is wrong, for the plugin's author. */
  readonly problem?: string;
}

/** Checks the plugin in `folder`. What its own `conformance.ts` exports as default is taken into account. */
export async function* checkPlugin(folder: string): AsyncGenerator<CheckResult> {
  const directory = path.resolve(folder);
  const name = path.basename(directory);
  const source = await sourceOf(directory);
  const title = `${name} can be loaded`;
  const loaded = source && (await loadPlugin(source, 0));
  if (loaded === undefined) {
    yield { title, problem: `${directory} has no plugin.ts` };
    return;
  }
  if ('error' in loaded) {
    yield { title, problem: loaded.error.message };
    return;
  }
  yield { title };
  yield (await exists(path.join(directory, 'README.md')))
    ? { title: 'it has a README' }
    : { title: 'it has a README', problem: 'README.md says what it registers, its settings, and its errors' };
  const options = await ownOptions(directory);
  const needed = options.with ?? (await providersFor(loaded.plugin));
  for (const check of pluginConformance(loaded.plugin, { ...options, with: needed })) {
    yield await check.run().then(
      () => ({ title: check.title }),
      (failure: Error) => ({ title: check.title, problem: failure.message }),
    );
  }
}

async function sourceOf(directory: string) {
  const sources = await findSources([path.dirname(directory)]).catch(() => undefined);
  return sources?.get(path.basename(directory));
}

async function ownOptions(directory: string): Promise<ConformanceOptions> {
  const file = path.join(directory, 'conformance.ts');
  if (!(await exists(file))) return {};
  return ((await import(pathToFileURL(file).href)) as { default: ConformanceOptions }).default;
}

/** The bundled plugins that offer what a plugin needs, with what they need themselves. */
async function providersFor(plugin: Plugin): Promise<readonly Plugin[]> {
  const found = await new PluginFolders([BUNDLED_PLUGINS]).loadAll();
  const bundled = found.flatMap((one) => ('plugin' in one && one.name !== plugin.name ? [one.plugin] : []));
  const chosen = new Set<Plugin>();
  const choose = (dependent: Plugin) => {
    for (const { id } of Object.values(dependent.needs ?? {}) as { id: string }[]) {
      const provider = bundled.find(({ offers = [] }) => offers.some((ref) => ref.id === id));
      if (provider === undefined || chosen.has(provider)) continue;
      chosen.add(provider);
      choose(provider);
    }
  };
  choose(plugin);
  return [...chosen];
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
