import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findSources } from '../../foundation/code/code-sources.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { loadPlugin, PluginFolders } from '../../kernel/host/plugin-folders.ts';
import { BUNDLED_PLUGINS } from '../../kernel/version.ts';
import { bundledPlugins, providersFor } from '../../testing/conformance/providers.ts';
import { messageOf, placed } from '../../testing/conformance/subject.ts';
import { watchErrors } from '../../testing/conformance/unhandled-errors.ts';
import { type ConformanceOptions, pluginConformance } from '../../testing/index.ts';

/** The result of one check. */
export interface CheckResult {
  readonly title: string;
  /** The problems, a line each; empty where there are none. */
  readonly findings: readonly string[];
  /** There was nothing to check: the plugin does not run. */
  readonly isSkipped?: boolean;
}

/**
 * Checks the plugin in `folder`, on each of `databases`. The default export of its own `conformance.ts` gives the
 * options.
 *
 * @throws Error for an invalid database, and for a `conformance.ts` that cannot be imported
 */
export async function* checkPlugin(
  folder: string,
  databases?: readonly string[],
): AsyncGenerator<CheckResult> {
  const directory = path.resolve(folder);
  const name = path.basename(directory);
  using errors = watchErrors(directory);
  const loaded = await load(directory);
  yield { title: `${name} can be loaded`, findings: 'problem' in loaded ? [loaded.problem] : [] };
  if ('problem' in loaded) return;
  const hasReadme = await exists(path.join(directory, 'README.md'));
  yield {
    title: 'it has a README',
    findings: hasReadme
      ? []
      : ['README.md is missing: it says what the plugin registers, its settings, and its errors'],
  };
  const own = await ownOptions(directory);
  const options = {
    folder: directory,
    ...own,
    with: own.with ?? (await needed(loaded.plugin, directory)),
    ...(databases === undefined ? {} : { databases }),
  };
  for (const check of pluginConformance(loaded.plugin, options)) {
    const { title } = check;
    yield await check.run().then(
      () => ({ title, findings: [], isSkipped: check.isSkipped }),
      (failure: Error) => ({ title, findings: failure.message.split('\n') }),
    );
  }
  const late = errors.take();
  if (late.length > 0) yield { title: 'no error is left to itself', findings: late };
}

/** The plugin of a folder, or why there is none. */
async function load(directory: string): Promise<{ readonly plugin: Plugin } | { readonly problem: string }> {
  const name = path.basename(directory);
  const sources = await findSources([path.dirname(directory)]).catch(() => undefined);
  const source = sources?.get(name);
  if (source === undefined) return { problem: `${directory} has no plugin.ts` };
  if (path.dirname(directory) !== BUNDLED_PLUGINS && (await exists(path.join(BUNDLED_PLUGINS, name))))
    return { problem: `the name ${name} is taken by a bundled plugin` };
  const loaded = await loadPlugin(source, 0);
  if ('plugin' in loaded) return loaded;
  return { problem: `${messageOf(loaded.error)}${placed(loaded.error, { folder: directory })}` };
}

async function ownOptions(directory: string): Promise<ConformanceOptions> {
  const file = path.join(directory, 'conformance.ts');
  if (!(await exists(file))) return {};
  return ((await import(pathToFileURL(file).href)) as { default: ConformanceOptions }).default;
}

/** The plugins that offer what a plugin needs: bundled ones, or those of its sibling folders. */
async function needed(plugin: Plugin, directory: string): Promise<readonly Plugin[]> {
  const bundled = await bundledPlugins();
  const offered = new Set(bundled.flatMap(({ offers = [] }) => offers.map(({ id }) => id)));
  const needs = Object.values(plugin.needs ?? {}) as { id: string }[];
  if (needs.every(({ id }) => offered.has(id))) return providersFor(plugin, bundled);
  const beside = await new PluginFolders([path.dirname(directory)]).loadAll();
  const siblings = beside.flatMap((one) => ('plugin' in one && one.folder !== directory ? [one.plugin] : []));
  return providersFor(plugin, [...bundled, ...siblings]);
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
