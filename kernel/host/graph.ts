import type { Plugin } from '../api/plugin.ts';

/** The plugins cannot be put in an order, or two claim the same service. */
class PluginGraphError extends Error {
  override readonly name = 'PluginGraphError';
}

/** Which plugin needs which, as names. Pure: made of the definitions alone. */
export interface PluginGraph {
  /** Every plugin after those it needs or wants, and otherwise in the order in which they are given. */
  readonly order: readonly string[];
  /** The owners of services, by the ids of these. */
  readonly providers: ReadonlyMap<string, string>;
  /** Owners of what a plugin needs or wants itself. */
  upstreamOf(name: string): readonly string[];
  /** Plugins that need or want a service of `name`, directly or through others. */
  dependentsOf(name: string): ReadonlySet<string>;
}

/**
 * Builds the graph.
 *
 * @throws PluginGraphError that names the two providers of one service, or every member of a cycle.
 */
export function buildGraph(plugins: readonly Plugin[]): PluginGraph {
  const providers = providersOf(plugins);
  const edges = new Map(plugins.map((plugin) => [plugin.name, upstreamOf(plugin, providers)] as const));
  const order = sort(edges);
  return {
    order,
    providers,
    upstreamOf: (name) => edges.get(name) ?? [],
    dependentsOf: (name) => {
      const dependents = new Set<string>();
      // In start order every upstream of a plugin was looked at before the plugin itself.
      for (const other of order) {
        const upstream = edges.get(other)!;
        if (upstream.includes(name) || upstream.some((u) => dependents.has(u))) dependents.add(other);
      }
      return dependents;
    },
  };
}

function providersOf(plugins: readonly Plugin[]): ReadonlyMap<string, string> {
  const providers = new Map<string, string>();
  for (const plugin of plugins) {
    for (const ref of plugin.offers ?? []) {
      const other = providers.get(ref.id);
      if (other !== undefined) {
        throw new PluginGraphError(`the service ${ref.id} is offered by both ${other} and ${plugin.name}`);
      }
      providers.set(ref.id, plugin.name);
    }
  }
  return providers;
}

function upstreamOf(plugin: Plugin, providers: ReadonlyMap<string, string>): readonly string[] {
  const refs: { id: string }[] = Object.values({ ...plugin.needs, ...plugin.wants });
  const names = refs.map((ref) => providers.get(ref.id)).filter((name) => name !== undefined);
  return [...new Set(names)].sort();
}

/** Depth first, with the path that leads here: when it meets itself, it is the cycle to show. */
function sort(edges: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const order: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]) => {
    if (done.has(name)) return;
    if (path.includes(name)) {
      const cycle = [...path.slice(path.indexOf(name)), name];
      throw new PluginGraphError(`the plugins need each other in a circle: ${cycle.join(' → ')}`);
    }
    for (const upstream of edges.get(name) ?? []) visit(upstream, [...path, name]);
    done.add(name);
    order.push(name);
  };
  for (const name of edges.keys()) visit(name, []);
  return order;
}

/** The plugins that there are, and which needs which. Immutable: a change makes another one, or is refused. */
export class Catalogue {
  readonly plugins: ReadonlyMap<string, Plugin>;
  readonly graph: PluginGraph;

  /** @throws PluginGraphError for a cycle, or two providers of one service. */
  constructor(plugins: Iterable<Plugin>) {
    this.plugins = new Map([...plugins].map((plugin) => [plugin.name, plugin]));
    this.graph = buildGraph([...this.plugins.values()]);
  }

  /** The same with `plugin` added, or in place of the one of its name. @throws PluginGraphError */
  with(plugin: Plugin): Catalogue {
    return new Catalogue(new Map(this.plugins).set(plugin.name, plugin).values());
  }

  without(name: string): Catalogue {
    return new Catalogue([...this.plugins.values()].filter((plugin) => plugin.name !== name));
  }

  /** True when `name` cannot run without `other`. */
  needs(name: string, other: string): boolean {
    const needs: { id: string }[] = Object.values(this.plugins.get(name)?.needs ?? {});
    return needs.some(({ id }) => {
      const provider = this.graph.providers.get(id);
      return provider === other || (provider !== undefined && this.needs(provider, other));
    });
  }
}
