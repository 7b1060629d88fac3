import type { TaskPayload } from '../core/commands.ts';
import { jsonLength, MAX_VARIABLES } from '../core/data.ts';
import { conditionText } from '../core/events.ts';
import type { RunState } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { MAX_CONTEXT } from '../runner/create-runner.ts';

/** The comparisons of the edges that leave a node, in the words of its graph. */
export function comparisonsOf({ nodes, graph }: CompiledGraph, nodeId: string): readonly string[] {
  return (nodes.get(nodeId)?.outgoing ?? []).flatMap((index) => {
    const condition = graph.edges[index]?.condition;
    return condition === undefined || 'outcome' in condition ? [] : [conditionText(condition)];
  });
}

/** How large a run would become by a completion that was refused as too large, and what is allowed. */
export function sizeWith(state: RunState, { output = {}, variables: added }: TaskPayload): string {
  const variables = added === undefined ? state.variables : { ...state.variables, ...added };
  const length = jsonLength(variables);
  if (length > MAX_VARIABLES) return sizeText('the variables of the run', length, MAX_VARIABLES);
  const outputs = [...state.steps.values()].flatMap((step) => (step.output === null ? [] : [step.output]));
  const size = [state.input, variables, output, ...outputs].reduce((sum, data) => sum + jsonLength(data), 0);
  return sizeText('the input, variables and outputs of the run', size, MAX_CONTEXT);
}

function sizeText(what: string, size: number, limit: number): string {
  const became = Number.isFinite(size) ? `have ${size} characters of JSON` : 'be nested too deeply';
  return `${what} would ${became}; ${limit} characters are allowed`;
}
