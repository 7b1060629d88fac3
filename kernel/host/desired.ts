import { isDeepStrictEqual } from 'node:util';
import { defaultEntry, type GatewayFile, type PluginEntry } from '../../foundation/config/gateway-file.ts';
import type { Plugin } from '../api/plugin.ts';
import type { PluginGraph } from './graph.ts';
import type { Rest } from './slot.ts';

/** The desired state of all plugins: what `gateway.yaml` says. */
export type Desired = GatewayFile;

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

/** Why a plugin shall not run, even if all that it needs is there; `undefined` for one that may. `only` is `SVC_PLUGINS`, empty for all. */
export function restOf(name: string, desired: Desired, only: readonly string[]): Rest | undefined {
  if (only.length > 0 && !only.includes(name))
    return { state: 'stopped', reason: 'SVC_PLUGINS does not name it' };
  if (!entryOf(desired, name).enabled) return { state: 'stopped', reason: 'disabled in gateway.yaml' };
  return undefined;
}

/** What decides whether a plugin runs. */
export interface RunConditions {
  readonly graph: PluginGraph;
  readonly plugins: ReadonlyMap<string, Plugin>;
  readonly desired: Desired;
  /** `SVC_PLUGINS`; empty for all. */
  readonly only: readonly string[];
  /** Plugins that failed and are not to be tried again. */
  readonly failed: ReadonlySet<string>;
  /** Plugins whose code was not imported, since they shall not run: what they offer is not known. */
  readonly unloaded?: readonly string[];
}

/** Which plugins are to run, in start order, and why each of the others is not. */
export interface RunPlan {
  readonly run: readonly string[];
  readonly idle: ReadonlyMap<string, Rest>;
}

/** Decides which plugins run. Pure. */
export function planRun({ graph, plugins, desired, only, failed, unloaded = [] }: RunConditions): RunPlan {
  const run: string[] = [];
  const idle = new Map<string, Rest>();
  for (const name of graph.order) {
    const plugin = plugins.get(name)!;
    const rest = restOf(name, desired, only);
    if (rest !== undefined) idle.set(name, rest);
    else if (!failed.has(name)) {
      const missing = missingNeed(plugin, graph, run, unloaded);
      if (missing === undefined) run.push(name);
      else idle.set(name, { state: 'waiting', reason: missing });
    }
  }
  return { run, idle };
}

function missingNeed(
  plugin: Plugin,
  graph: PluginGraph,
  running: readonly string[],
  unloaded: readonly string[],
): string | undefined {
  for (const ref of Object.values(plugin.needs ?? {}) as { id: string }[]) {
    const provider = graph.providerOf(ref.id);
    if (provider === undefined) {
      const idle = unloaded.length === 0 ? '' : ` of those that may run (${unloaded.join(', ')} may not)`;
      return `needs ${ref.id}, which no plugin offers${idle}`;
    }
    if (!running.includes(provider)) return `needs ${ref.id} of ${provider}, which does not run`;
  }
  return undefined;
}
