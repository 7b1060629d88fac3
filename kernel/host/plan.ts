import { didYouMean } from '../../foundation/base/nearest-name.ts';
import { type Desired, type Rest, restOf } from '../../foundation/config/desired.ts';
import type { Plugin } from '../api/plugin.ts';
import type { Catalogue, PluginGraph } from './graph.ts';

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
      const missing = missingNeed(plugin, graph, { run, idle }, unloaded);
      if (missing === undefined) run.push(name);
      else idle.set(name, { state: 'waiting', reason: missing });
    }
  }
  return { run, idle };
}

function missingNeed(
  plugin: Plugin,
  graph: PluginGraph,
  { run, idle }: RunPlan,
  unloaded: readonly string[],
): string | undefined {
  for (const ref of Object.values(plugin.needs ?? {}) as { id: string }[]) {
    const provider = graph.providers.get(ref.id);
    if (provider === undefined) {
      const others = unloaded.length === 0 ? '' : ` of those that may run (${unloaded.join(', ')} may not)`;
      return `needs ${ref.id}, which no plugin offers${others}${didYouMean(ref.id, [...graph.providers.keys()])}`;
    }
    if (run.includes(provider)) continue;
    const { reason = 'failed' } = idle.get(provider) ?? {};
    return `needs ${ref.id} of ${provider}, which does not run (${reason})`;
  }
  return undefined;
}

/** Plugins that come and go together. */
export interface Exchange {
  /** Those that are set up, in start order. */
  readonly arriving: readonly string[];
  /** Those that run now and will not, or not in this instance. */
  readonly leaving: ReadonlySet<string>;
  /** Both. */
  readonly names: ReadonlySet<string>;
  /** What the arriving need or want, and that stays. */
  readonly upstream: ReadonlySet<string>;
}

/** What decides what a change exchanges. */
export interface ExchangeConditions {
  readonly before: Catalogue;
  readonly after: Catalogue;
  /** Those that are to run afterwards. */
  readonly run: readonly string[];
  readonly running: readonly string[];
  /** Those to set up again although they run. */
  readonly touched: ReadonlySet<string>;
  /** Those that another change brings, takes or exchanges at this moment: they are left alone. */
  readonly isUnderWay: (name: string) => boolean;
}

/** Decides which plugins come and go: those touched, and with them those that need or want one of these. Pure. */
export function planExchange(conditions: ExchangeConditions): Exchange {
  const { before, after, run, running, touched, isUnderWay } = conditions;
  const arriving: string[] = [];
  const leaving = new Set(running.filter((name) => !after.plugins.has(name) && !isUnderWay(name)));
  for (const name of after.graph.order.filter((one) => !isUnderWay(one))) {
    const runs = running.includes(name);
    const upstreamMoves = [...after.graph.upstreamOf(name), ...before.graph.upstreamOf(name)].some(
      (upstream) => arriving.includes(upstream) || leaving.has(upstream),
    );
    const shouldRun = run.includes(name);
    if (shouldRun && (!runs || touched.has(name) || upstreamMoves)) arriving.push(name);
    if (runs && (!shouldRun || arriving.includes(name))) leaving.add(name);
  }
  return exchangeOf(arriving, leaving, after);
}

/** With what such an exchange touches. */
export function exchangeOf(
  arriving: readonly string[],
  leaving: ReadonlySet<string>,
  catalogue: Catalogue,
): Exchange {
  const names = new Set([...arriving, ...leaving]);
  const upstream = new Set(arriving.flatMap((name) => catalogue.graph.upstreamOf(name)));
  return { arriving, leaving, names, upstream: upstream.difference(names) };
}
