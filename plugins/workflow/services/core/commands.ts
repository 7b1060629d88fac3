import type { JsonObject } from '../../contract/graph.ts';
import type { RunEventType, TaskCompletion } from '../../contract/runs.ts';

/** The author of what no identity does. */
export const SYSTEM = 'system';

/** Names one delivery of a step. */
export interface Fence {
  readonly stepId: string;
  readonly attempt: number;
  readonly delivery: number;
}

/** What a caller does to a run, or what happens to it. Commands of a delivery that is over change nothing. */
export type Command =
  /**
   * A worker takes pending steps that are ready: `room` at most. Nothing while another worker owns the run, or it is
   * paused.
   */
  | { readonly type: 'claim'; readonly worker: string; readonly room: number }
  | {
      readonly type: 'succeeded';
      readonly fence: Fence;
      readonly output: JsonObject;
      readonly record?: JsonObject | undefined;
    }
  | {
      readonly type: 'failed';
      readonly fence: Fence;
      readonly error: { readonly code: string; readonly message: string };
      /** Another attempt may end otherwise, so that the node's `retry` applies. */
      readonly isRetryable: boolean;
      /** Milliseconds that the other side asked for before the next attempt. */
      readonly retryAfterMs?: number | undefined;
      readonly record?: JsonObject | undefined;
    }
  /** A worker that stops gives a step back: it is delivered again, and this delivery does not count. */
  | { readonly type: 'released'; readonly fence: Fence }
  /**
   * The owner is gone: its running steps are delivered again, or fail as `worker_lost`. Changes nothing if the run has
   * another owner by now.
   */
  | { readonly type: 'worker_lost'; readonly worker: string }
  /** Time has passed: tasks that are due time out. */
  | { readonly type: 'tick' }
  | {
      readonly type: 'task_completed';
      readonly stepId: string;
      /** Only this attempt of the task: a task that was opened again may have another assignee. */
      readonly attempt?: number;
      readonly by: string;
      readonly payload: TaskCompletion;
    }
  | { readonly type: 'retry'; readonly by: string }
  | { readonly type: 'cancel'; readonly by: string };

/** The command of a type. */
export type CommandOf<T extends Command['type']> = Extract<Command, { readonly type: T }>;

/**
 * The outcome of a command. `applied`: the state changed. `unchanged`: nothing to do (a late result, a second cancel, a
 * repeated completion). The others are refusals for the caller.
 */
export type Verdict =
  | 'applied'
  | 'unchanged'
  | 'not-paused'
  | 'already-completed'
  | 'task-not-open'
  | 'task-completed-otherwise'
  | 'outcome-not-routable'
  | 'context-too-large';

/** An event that a transition writes; its number and time are the state's. */
export interface NewEvent {
  readonly seq: number;
  readonly type: RunEventType;
  readonly nodeId: string | null;
  readonly stepId: string | null;
  readonly data: JsonObject;
  readonly createdAt: number;
}

/** What a transition knows in addition to graph and state. */
export interface Facts {
  /** Milliseconds on the database's clock. */
  readonly now: number;
  /** A new id for a step. */
  readonly newId: () => string;
  /**
   * A step that fails for good ends the run, instead of pausing it: what is left is cancelled in the same transition.
   * Default: false.
   */
  readonly endsOnFailure?: boolean;
  readonly limits: {
    /** Activated steps, start and end included. */
    readonly maxSteps: number;
    /** Deliveries of one attempt, the first included, before it fails as `worker_lost`. */
    readonly maxDeliveries: number;
    /** Characters of JSON of a run's input, its variables and all outputs together. */
    readonly maxContext: number;
  };
}
