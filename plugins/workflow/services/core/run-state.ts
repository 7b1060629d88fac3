import type { JsonObject } from '../../contract/graph.ts';
import type { RunStatus, StepError, StepStatus } from '../../contract/runs.ts';

/**
 * Everything about a run that its rules depend on. Plain and immutable: a transition gives a new one and keeps the objects of the steps
 * that did not change. Times are milliseconds since the epoch on the database's clock.
 */
export interface RunState {
  readonly id: string;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly versionId: string;
  readonly version: number;
  /** A function of the steps (decisions 2.3), kept for those who list runs. */
  readonly status: RunStatus;
  /** Grows by one with each commit: of two who change the same state only one can store it. */
  readonly revision: number;
  /** Number of the last event. */
  readonly seq: number;
  readonly input: JsonObject;
  readonly variables: JsonObject;
  readonly error: StepError | null;
  /** The worker that carries out the running steps: nobody else claims steps of the run. Null while no step is running. */
  readonly owner: string | null;
  /** When somebody has to look at the run although nobody told him: a timer, or steps that nobody has claimed. See `wakeAt`. */
  readonly wakeAt: number | null;
  readonly startedBy: string;
  readonly startedAt: number;
  readonly completedAt: number | null;
  readonly updatedAt: number;
  /** By node. A node without one is not decided yet. */
  readonly steps: ReadonlyMap<string, StepState>;
}

/** One node of a run, from the moment that it is decided. */
export interface StepState {
  readonly id: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  readonly status: StepStatus;
  /** 1 for the first. `attempt` and `delivery` together are the fence: whoever was given another pair is too late. */
  readonly attempt: number;
  /** How often this attempt was handed to somebody; 0 before the first time. It only grows within an attempt: a fence is never used twice. */
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
  /** Of a completed human task: who, and what he said, to know the same payload again. */
  readonly completion: { readonly by: string; readonly payload: JsonObject } | null;
  /** Of a human task: when it times out. */
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}
