import type { Plugin } from '../api/plugin.ts';

/** What the plugins of `SVC_PLUGINS` come to when what they need is looked for. */
interface Needed {
  /** Those named and those that they need, directly or through others. Empty where nothing is named: all may run. */
  readonly names: readonly string[];
  /** Ids of services that they need and that none of the plugins offers. */
  readonly missing: readonly string[];
}

/**
 * Looks for what the plugins that `SVC_PLUGINS` names need: a process that is limited to some plugins has these as
 * well, since without them none of the named would run. What they only want is not among it. Pure.
 *
 * @param plugins those whose code is known
 */
export function withNeeded(only: readonly string[], plugins: Iterable<Plugin>): Needed {
  const byName = new Map([...plugins].map((plugin) => [plugin.name, plugin]));
  const providers = new Map<string, string>();
  for (const { name, offers = [] } of byName.values()) {
    for (const { id } of offers) if (!providers.has(id)) providers.set(id, name);
  }
  const names = new Set(only);
  const missing = new Set<string>();
  // A set that grows is gone through to its end.
  for (const name of names) {
    for (const { id } of Object.values(byName.get(name)?.needs ?? {}) as { id: string }[]) {
      const provider = providers.get(id);
      if (provider === undefined) missing.add(id);
      else names.add(provider);
    }
  }
  return { names: [...names], missing: [...missing] };
}

/** The plugin that a service or an extension point belongs to, by its id: `records` of `records.sessions`. */
export function ownerOf(serviceId: string): string {
  return serviceId.split('.')[0]!;
}
