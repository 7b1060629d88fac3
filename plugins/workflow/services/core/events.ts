import type { Condition, JsonObject } from '../../contract/graph.ts';
import type { RunEventType, StepError } from '../../contract/runs.ts';
import type { CompiledGraph, CompiledNode } from '../graph/compiled-graph.ts';
import { MAX_STEPS_EXCEEDED, type StepState, type Transition } from './state.ts';

type RunEvent = Extract<RunEventType, `run.${string}`>;
type StepEvent = Exclude<RunEventType, RunEvent>;

const NOTHING: JsonObject = {};

/** Adds an event about the run. */
export function emitRunEvent(transition: Transition, type: RunEvent, data = NOTHING): void {
  transition.seq += 1;
  const { seq, facts } = transition;
  transition.events.push({ seq, type, nodeId: null, stepId: null, data, createdAt: facts.now });
}

/** Adds an event about a step. */
export function emitStepEvent(
  transition: Transition,
  type: StepEvent,
  step: StepState,
  data = NOTHING,
): void {
  transition.seq += 1;
  const { seq, facts } = transition;
  transition.events.push({ seq, type, nodeId: step.nodeId, stepId: step.id, data, createdAt: facts.now });
}

/** Which delivery a step's event belongs to. */
export function deliveryOf({ attempt, delivery }: StepState): { attempt: number; delivery: number } {
  return { attempt, delivery };
}

/** An error as events and runs show it. */
export function errorData(error: StepError): JsonObject {
  return {
    code: error.code,
    message: error.message,
    ...(error.node === undefined ? {} : { node: error.node }),
  };
}

/** One `warning` for each reference of a template that led nowhere. */
export function warnOfMissing(transition: Transition, step: StepState, missing: readonly string[]): void {
  for (const reference of missing)
    emitStepEvent(transition, 'warning', step, { reference, node: step.nodeId });
}

/** A moment as events and records show it: RFC 3339, UTC, with milliseconds. `ms` are milliseconds since the epoch. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same for a moment that may not have come. */
export function nullableTimestamp(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms);
}

/* Why steps fail by the rules of the engine, in words for the author of the graph and for who runs it. */

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
  const message = `No edge leads on from node "${node.id}": none of its conditions holds: ${shown}${tail}. Give the node a default edge (one without a condition), or correct the conditions; a retry of this run executes the node again.`;
  return { code: 'no_matching_edge', message };
}

/** A node was reached, and the run has activated as many as it may. */
export function maxStepsExceeded(node: CompiledNode, limit: number): StepError {
  const message = `Node "${node.id}" was not started: the run has activated ${limit} steps, and may not activate more. Raise WORKFLOW_MAX_STEPS (${limit} now) and retry the run, or divide the workflow.`;
  return { code: MAX_STEPS_EXCEEDED, message };
}

/** An output does not fit into the data of the run. */
export function contextTooLarge({ nodeId }: StepState, size: number, limit: number): StepError {
  const became = Number.isFinite(size) ? `${size} characters of JSON` : 'nested too deeply';
  const message = `With the output of node "${nodeId}", the input, variables and outputs of the run would be ${became}; ${limit} characters are allowed. Let the node give back less, then retry the run.`;
  return { code: 'context_too_large', message };
}

/** What was filled into a step's configuration is too large, alone or with that of the other steps. */
export function inputTooLarge({ nodeId }: StepState, size: number, limit: number): StepError {
  const message = `What the templates of node "${nodeId}" insert is too large: ${size} characters of JSON, ${limit} are allowed. Insert a part of the data, or an address from which they can be read, then retry the run.`;
  return { code: 'input_too_large', message };
}

/** Nobody completed a human task in its time, and no edge says what then. */
export function humanTaskTimeout({ nodeId }: StepState): StepError {
  const message = `Nobody completed the task of node "${nodeId}" in its time. Retry the run to open the task again, or give the node an edge with the outcome "timeout".`;
  return { code: 'human_task_timeout', message };
}

/** Every delivery of an attempt was lost. */
export function workerLost({ nodeId, lost }: StepState): StepError {
  const message = `Node "${nodeId}" was interrupted ${lost} times: the replica that carried it out was lost. Look for what ends the replicas (memory, crashes), then retry the run.`;
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
