import type { Graph, JsonObject } from '../../../../../plugins/workflow/contract.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { StoredWrite } from '../memory-store.ts';
import { contextOf, decide, route } from '../model.ts';

/**
 * Says where a write routes otherwise than the model: the edges that each newly completed step takes, with the data
 * that it could see and which nodes are to be there now.
 */
export function checkRouting({ before, after, events }: StoredWrite, graph: Graph): string[] {
  const wrong: string[] = [];
  const { state } = after;
  const old = before?.state;
  const outputs = new Map(old === undefined ? [] : contextOf(old).outputs);
  let variables = old?.variables ?? {};
  for (const { type, nodeId } of events) {
    const step = type === 'step.completed' ? state.steps.get(nodeId!) : undefined;
    if (step?.status !== 'completed') continue;
    outputs.set(step.nodeId, step.output ?? {});
    variables = { ...variables, ...variablesOf(step.completion?.payload) };
    const expected = route(graph, step.nodeId, step.outcome, { input: state.input, variables, outputs });
    const taken = [...(step.taken ?? [])].sort((one, other) => one - other);
    if (String(taken) !== String(expected)) {
      wrong.push(`step ${step.nodeId} took the edges [${taken}], the model [${expected}]`);
    }
  }
  for (const step of state.steps.values()) {
    if (step.status !== 'completed' || old?.steps.get(step.nodeId)?.status === 'completed') continue;
    const told = events.some(({ type, nodeId }) => nodeId === step.nodeId && type === 'step.completed');
    if (!told) wrong.push(`step ${step.nodeId} was completed without an event`);
  }
  return [...wrong, ...checkNodes(state, graph)];
}

function variablesOf(payload: JsonObject | undefined): JsonObject {
  return (payload?.variables as JsonObject | undefined) ?? {};
}

/**
 * A node has a step from the moment that it is decided, and not before; it is skipped when the model says so, and never
 * otherwise.
 */
function checkNodes(state: RunState, graph: Graph): string[] {
  const wrong: string[] = [];
  const decisions = decide(graph, (nodeId) => {
    const step = state.steps.get(nodeId);
    return step?.status === 'completed' ? (step.taken ?? []) : undefined;
  });
  for (const [nodeId, decision] of decisions) {
    const status = state.steps.get(nodeId)?.status;
    if (decision === 'undecided' && status !== undefined) wrong.push(`step ${nodeId} is ${status} too early`);
    if (decision === 'runs' && status === undefined) wrong.push(`step ${nodeId} should be there`);
    if (decision === 'runs' && status === 'skipped')
      wrong.push(`step ${nodeId} was skipped, an edge leads to it`);
    if (decision === 'skipped' && status !== 'skipped')
      wrong.push(`step ${nodeId} is ${status}, no edge leads to it`);
  }
  for (const nodeId of state.steps.keys()) {
    if (!decisions.has(nodeId)) wrong.push(`step ${nodeId} is of no node`);
  }
  return wrong;
}
