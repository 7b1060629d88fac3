import type { Plugin } from '../../kernel/api/plugin.ts';
import { PluginFolders } from '../../kernel/host/plugin-folders.ts';
import { BUNDLED_PLUGINS } from '../../kernel/version.ts';

let loading: Promise<readonly Plugin[]> | undefined;

/** The plugins that come with the gateway. */
export function bundledPlugins(): Promise<readonly Plugin[]> {
  loading ??= new PluginFolders([BUNDLED_PLUGINS])
    .loadAll()
    .then((found) => found.flatMap((one) => ('plugin' in one ? [one.plugin] : [])));
  return loading;
}

/** Those of `candidates` that offer what a plugin needs, with what they need themselves. */
export function providersFor(plugin: Plugin, candidates: readonly Plugin[]): readonly Plugin[] {
  const chosen = new Set<Plugin>();
  const choose = (dependent: Plugin) => {
    for (const { id } of Object.values(dependent.needs ?? {}) as { id: string }[]) {
      const provider = candidates.find(
        ({ name, offers = [] }) => name !== plugin.name && offers.some((ref) => ref.id === id),
      );
      if (provider === undefined || chosen.has(provider)) continue;
      chosen.add(provider);
      choose(provider);
    }
  };
  choose(plugin);
  return [...chosen];
}
