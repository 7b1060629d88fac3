import type { Plugin } from '../api/plugin.ts';
import { buildGraph, type PluginGraph } from './graph.ts';

/** The plugins that there are, and who needs whom. Immutable: a change makes another one, or is refused. */
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

  /** Owners of what a plugin needs or wants. */
  upstreamOf(name: string): readonly string[] {
    const plugin = this.plugins.get(name);
    const refs: { id: string }[] = Object.values({ ...plugin?.needs, ...plugin?.wants });
    return refs.map(({ id }) => this.graph.providerOf(id)).filter((provider) => provider !== undefined);
  }

  /** True when `name` cannot run without `other`. */
  needs(name: string, other: string): boolean {
    const needs: { id: string }[] = Object.values(this.plugins.get(name)?.needs ?? {});
    return needs.some(({ id }) => {
      const provider = this.graph.providerOf(id);
      return provider === other || (provider !== undefined && this.needs(provider, other));
    });
  }
}
