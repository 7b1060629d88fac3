import type { Condition } from '../../contract/graph.ts';
import type { StepError } from '../../contract/runs.ts';
import type { CompiledGraph, CompiledNode, Filled } from '../graph/compiled-graph.ts';
import type { StepState } from './state.ts';
import { MAX_STEPS_EXCEEDED } from './status.ts';

/* Why steps fail by the rules, in words for the author of the graph and for the operator. */

/** Conditions that a message shows, and characters of each. */
const SHOWN_CONDITIONS = 5;
const SHOWN_CHARACTERS = 120;

/** No outgoing edge of an automatic node is taken. */
export function noMatchingEdge(graph: CompiledGraph, node: CompiledNode): StepError {
  const conditions = node.outgoing.flatMap((index) => {
    const { condition, to } = graph.graph.edges[index]!;
    return condition === undefined ? [] : [`${conditionText(condition)} (to "${to}")`];
  });
  const shown = conditions.slice(0, SHOWN_CONDITIONS).join('; ');
  const more = conditions.length - SHOWN_CONDITIONS;
  const tail = more > 0 ? `; and ${more} more` : '';
  const message = `No edge leads on from node "${node.id}": none of its conditions holds: ${shown}${tail}. Give the node a default edge (one without a condition), or correct the conditions; a retry executes the node again.`;
  return { code: 'no_matching_edge', message };
}

/** A node was reached, and the run has activated as many as it may. */
export function maxStepsExceeded({ nodeId }: StepState, limit: number): StepError {
  const message = `Node "${nodeId}" was not started: ${limit} steps were activated before it, and no more may be. Raise WORKFLOW_MAX_STEPS (${limit} now) and try again, or divide the workflow.`;
  return { code: MAX_STEPS_EXCEEDED, message };
}

/** An output does not fit into the data of the run. */
export function contextTooLarge({ nodeId }: StepState, size: number, limit: number): StepError {
  const became = Number.isFinite(size) ? `${size} characters of JSON` : 'nested too deeply';
  const message = `With the output of node "${nodeId}", input, variables and outputs together would be ${became}; ${limit} characters are allowed. Let the node give back less, then try again.`;
  return { code: 'context_too_large', message };
}

/**
 * Why a step cannot begin with its filled-in configuration: filling it in failed, or it is too large, alone or together
 * with those of the other steps.
 */
export function inputFault(
  { nodeId }: StepState,
  { failure }: Filled,
  size: number,
  limit: number,
): StepError | undefined {
  if (failure !== undefined || size <= limit) return failure;
  const message = `What the templates of node "${nodeId}" insert is too large: ${size} characters of JSON, ${limit} are allowed. Insert a part of the data, or an address from which they can be read, then try again.`;
  return { code: 'input_too_large', message };
}

/** A human task timed out, and no edge has the outcome `timeout`. */
export function humanTaskTimeout({ nodeId }: StepState): StepError {
  const message = `The task of node "${nodeId}" was not completed in its time. Try again to open the task again, or give the node an edge with the outcome "timeout".`;
  return { code: 'human_task_timeout', message };
}

/** Every delivery of an attempt was lost. */
export function workerLost({ nodeId, lost }: StepState): StepError {
  const message = `Node "${nodeId}" was interrupted ${lost} times: the replica that carried it out was lost. Look for what ends the replicas (memory, crashes), then try again.`;
  return { code: 'worker_lost', message };
}

/** A condition in the words of its graph, 120 characters at most. */
export function conditionText(condition: Condition): string {
  const text =
    'outcome' in condition
      ? `outcome is ${JSON.stringify(condition.outcome)}`
      : `${condition.field} ${condition.op}${condition.value === undefined ? '' : ` ${JSON.stringify(condition.value)}`}`;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
