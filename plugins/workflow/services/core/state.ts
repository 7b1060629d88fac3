import type { JsonObject } from '../../contract/graph.ts';
import type { RunStatus, StepError, StepStatus } from '../../contract/runs.ts';
import type { CompiledGraph, CompiledNode } from '../graph/compiled-graph.ts';
import { jsonLength } from '../graph/json.ts';
import type { Facts, NewEvent, Verdict } from './commands.ts';

/**
 * Everything about a run that its rules depend on. Plain and immutable: a transition gives a new one and keeps the
 * objects of the steps that did not change. Times are milliseconds since the epoch on the database's clock.
 */
export interface RunState {
  readonly id: string;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly versionId: string;
  readonly version: number;
  /** A function of the steps (decisions 2.3), kept for lists of runs. */
  readonly status: RunStatus;
  /** Grows by one with each commit: of two processes that change the same state only one can store it. */
  readonly revision: number;
  /** Number of the last event. */
  readonly seq: number;
  readonly input: JsonObject;
  readonly variables: JsonObject;
  readonly error: StepError | null;
  /**
   * The worker that carries out the running steps: no other worker claims steps of the run. Null while no step is
   * running.
   */
  readonly owner: string | null;
  /** When a worker has to poll the run without a command: a timer is due, or steps are unclaimed. See `wakeAt`. */
  readonly wakeAt: number | null;
  readonly startedBy: string;
  /**
   * The user for whom it was started, as `storedName` gives it; null for the identity itself, and of runs of earlier
   * versions.
   */
  readonly userId: string | null;
  readonly startedAt: number;
  /** When a worker took its first step, or a person could; null where none did before its end, or until then. */
  readonly begunAt: number | null;
  readonly completedAt: number | null;
  readonly updatedAt: number;
  /** By node. A node without one is not decided yet. */
  readonly steps: ReadonlyMap<string, StepState>;
}

/** The result of a transition. If nothing changed, `state` is the object that was passed in. */
export interface TransitionResult {
  readonly state: RunState;
  readonly events: readonly NewEvent[];
  /** One for each command, in order. */
  readonly verdicts: readonly Verdict[];
}

/** One node of a run, from the moment that it is decided. */
export interface StepState {
  readonly id: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  readonly status: StepStatus;
  /** 1 for the first. `attempt` and `delivery` together are the fence: a result with another pair is too late. */
  readonly attempt: number;
  /**
   * How often this attempt was handed to a worker; 0 before the first time. It only grows within an attempt: a fence is
   * never used twice.
   */
  readonly delivery: number;
  /** Deliveries of this attempt that were lost with their worker; one that a worker gave back is not among them. */
  readonly lost: number;
  /** Of a pending step that waits for its next attempt: not before this time. */
  readonly readyAt: number | null;
  readonly assignee: string | null;
  readonly input: JsonObject | null;
  readonly output: JsonObject | null;
  readonly outcome: string | null;
  readonly error: StepError | null;
  /** Indexes of the outgoing edges that were taken, once the step is completed (decisions 2.1.4). */
  readonly taken: readonly number[] | null;
  /** Of a completed human task: who completed it, and the payload, to recognize a repetition. */
  readonly completion: { readonly by: string; readonly payload: JsonObject } | null;
  /** Of a human task: when it times out. */
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

/** The step of a node that has just been decided: the beginning of its first attempt, written nowhere yet. */
export function newStep({ id, name, type }: CompiledNode, facts: Facts): StepState {
  return {
    id: facts.newId(),
    nodeId: id,
    nodeName: name,
    nodeType: type,
    status: 'pending',
    attempt: 1,
    delivery: 0,
    lost: 0,
    readyAt: null,
    assignee: null,
    input: null,
    output: null,
    outcome: null,
    error: null,
    taken: null,
    completion: null,
    dueAt: null,
    createdAt: facts.now,
    startedAt: null,
    completedAt: null,
  };
}

/** The beginning of a step's next attempt. Nothing of the previous one is kept: templates are filled in again. */
export function nextAttempt(step: StepState, readyAt: number | null = null): StepState {
  return {
    ...step,
    status: 'pending',
    attempt: step.attempt + 1,
    delivery: 0,
    lost: 0,
    readyAt,
    assignee: null,
    input: null,
    error: null,
    dueAt: null,
    startedAt: null,
    completedAt: null,
  };
}

/** Whether a status is final. */
export function isTerminal(status: RunStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

/** Characters of JSON of the variables of a run at most: lists of runs show them. */
export const MAX_VARIABLES = 512 * 1024;

/** Characters of JSON of a run's input, variables and outputs together, with one output more. */
export function contextSize({ input, variables, steps }: RunState, added: JsonObject): number {
  let size = jsonLength(input) + jsonLength(variables) + jsonLength(added);
  for (const { output } of steps.values()) if (output !== null) size += jsonLength(output);
  return size;
}

/**
 * Characters of JSON of the filled-in inputs of all steps together, with one more: a large value may be inserted into
 * many.
 */
export function inputSize({ steps }: RunState, added: JsonObject): number {
  let size = jsonLength(added);
  for (const { input } of steps.values()) if (input !== null) size += jsonLength(input);
  return size;
}

/**
 * The result of a run: the outputs of the nodes from which an edge into an end was taken, merged in topological order
 * (decisions 3.3); null while it is not completed.
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

/** A moment as events and records show it: RFC 3339, UTC, with milliseconds. `ms` are milliseconds since the epoch. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same for a moment that may be null. */
export function nullableTimestamp(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms);
}
