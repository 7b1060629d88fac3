import type { JsonObject } from '../../contract/graph.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import type { RunState } from './run-state.ts';

/**
 * What a run came to: the outputs of the nodes from which an edge into an end was taken, merged in topological order (decisions 3.3); null
 * while it is not completed.
 */
export function resultOf(graph: CompiledGraph, { status, steps }: RunState): JsonObject | null {
  if (status !== 'completed') return null;
  const isEnd = (index: number) => graph.nodes.get(graph.edges[index]!.to)!.behavior === 'end';
  const outputs = [...graph.nodes.keys()].map((id) => {
    const step = steps.get(id);
    return step?.taken?.some(isEnd) ? step.output : null;
  });
  // Not `Object.assign`: an output may have a member of the name `__proto__`.
  return Object.fromEntries(outputs.flatMap((output) => Object.entries(output ?? {})));
}
