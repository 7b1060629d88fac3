import { isDeepStrictEqual } from 'node:util';
import { defaultEntry, type GatewayFile, type PluginEntry } from './gateway-file.ts';

/** The desired state of all plugins: what `gateway.yaml` says. */
export type Desired = GatewayFile;

/** Why a plugin does not run although nothing is wrong with it. */
export interface Rest {
  readonly state: 'stopped' | 'waiting';
  readonly reason: string;
}

/** What the desired state says about a plugin. */
export function entryOf(desired: Desired, name: string): PluginEntry {
  return desired.plugins.get(name) ?? defaultEntry;
}

/** The same desired state with one plugin enabled or disabled. */
export function withEnabled(desired: Desired, name: string, enabled: boolean): Desired {
  return { ...desired, plugins: new Map(desired.plugins).set(name, { ...entryOf(desired, name), enabled }) };
}

/** The same desired state with the entries that `other` has for these plugins. */
export function withEntries(desired: Desired, other: Desired, names: readonly string[]): Desired {
  const plugins = new Map(desired.plugins);
  for (const name of names) plugins.set(name, entryOf(other, name));
  return { ...other, plugins };
}

/** Names whose entries are not the same in both states. */
export function changedEntries(before: Desired, after: Desired): readonly string[] {
  const names = new Set([...before.plugins.keys(), ...after.plugins.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(entryOf(before, name), entryOf(after, name)));
}

/** Names of plugins whose code lies elsewhere: their package or path is not the same in both states. */
export function movedEntries(before: Desired, after: Desired): readonly string[] {
  return changedEntries(before, after).filter((name) => {
    const [old, next] = [entryOf(before, name), entryOf(after, name)];
    return old.package !== next.package || old.path !== next.path;
  });
}

/**
 * Why a plugin shall not run, even if all that it needs is there; `undefined` for one that may. `only` is
 * `SVC_PLUGINS`, empty for all.
 */
export function restOf(name: string, desired: Desired, only: readonly string[]): Rest | undefined {
  if (only.length > 0 && !only.includes(name))
    return { state: 'stopped', reason: 'SVC_PLUGINS does not name it' };
  if (!entryOf(desired, name).enabled) return { state: 'stopped', reason: 'disabled in gateway.yaml' };
  return undefined;
}
