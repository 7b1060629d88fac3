import type { CompiledGraph, CompiledNode, RunData } from '../graph/compiled-graph.ts';

/**
 * The outgoing edges that a completed node takes, by index, ascending (specification 2, Routing rules; decisions 2.1.1): all conditional edges
 * that match; when none does, all edges without condition. Empty where the node leads nowhere. It is asked once, when the node
 * completes: what it says is stored with the step.
 */
export function chooseEdges(
  graph: CompiledGraph,
  node: CompiledNode,
  outcome: string | null,
  data: RunData,
): readonly number[] {
  const matching: number[] = [];
  const defaults: number[] = [];
  for (const index of node.outgoing) {
    const { condition } = graph.edges[index]!;
    if (condition === undefined) defaults.push(index);
    else if (condition.kind === 'outcome' ? condition.outcome === outcome : condition.matches(data)) {
      matching.push(index);
    }
  }
  return matching.length > 0 ? matching : defaults;
}

/** Whether an edge of the node is named after an outcome. */
export function leadsOnWith(graph: CompiledGraph, node: CompiledNode, outcome: string): boolean {
  return node.outgoing.some((index) => {
    const { condition } = graph.edges[index]!;
    return condition?.kind === 'outcome' && condition.outcome === outcome;
  });
}
