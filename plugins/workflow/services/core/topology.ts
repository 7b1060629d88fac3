import type { CompiledGraph, CompiledNode } from '../graph/compiled-graph.ts';

/** Nodes by their place in topological order. Whatever happens to several nodes at once happens in this order, so that it is repeatable. */
export interface Topology {
  readonly nodes: readonly CompiledNode[];
  rankOf(nodeId: string): number;
}

/** Graphs never change, so what is computed of one holds as long as it lives. */
const known = new WeakMap<CompiledGraph, Topology>();

/** The topological order of a graph. Computed once a graph. */
export function topologyOf(graph: CompiledGraph): Topology {
  let topology = known.get(graph);
  if (topology === undefined) {
    const nodes = [...graph.nodes.values()];
    const ranks = new Map(nodes.map(({ id }, rank) => [id, rank]));
    topology = { nodes, rankOf: (nodeId) => ranks.get(nodeId)! };
    known.set(graph, topology);
  }
  return topology;
}

/** Sorts what belongs to nodes into topological order, in place. */
export function inOrder<T extends { readonly nodeId: string }>(graph: CompiledGraph, items: T[]): T[] {
  if (items.length < 2) return items;
  const { rankOf } = topologyOf(graph);
  return items.sort((one, other) => rankOf(one.nodeId) - rankOf(other.nodeId));
}
