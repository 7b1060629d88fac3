import type { Json, JsonObject } from './graph.ts';

/** `completed` and `cancelled` are final (specification 2, Run). */
export type RunStatus = 'running' | 'waiting' | 'paused' | 'completed' | 'cancelled';

/** All states of a run. */
export const RUN_STATUSES: readonly RunStatus[] = ['running', 'waiting', 'paused', 'completed', 'cancelled'];

/** Where one step stands (decisions 2.3). `pending`: decided, and no worker has it yet. */
export type StepStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'cancelled';

/** Why a step failed, or a run is paused. `message` is for the author of the graph and holds no secret. */
export interface StepError {
  /** Stable: `service_status`, `worker_lost`, `no_matching_edge` … `docs/workflows.md` lists all. */
  readonly code: string;
  readonly message: string;
  /** The node that failed. */
  readonly node?: string;
}

/** An instance of a version. Wire names (decisions 2.3). */
export interface RunRecord {
  readonly id: string;
  readonly definition_id: string;
  readonly version_id: string;
  readonly version: number;
  readonly status: RunStatus;
  readonly input: JsonObject;
  readonly variables: JsonObject;
  readonly error: StepError | null;
  readonly started_by: string;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly updated_at: string;
}

/** The execution of one node; a node runs once in a run. Wire names (decisions 2.3). */
export interface StepRecord {
  readonly id: string;
  readonly run_id: string;
  readonly node_id: string;
  readonly node_name: string;
  readonly node_type: string;
  readonly status: StepStatus;
  readonly attempt: number;
  readonly assignee: string | null;
  /** The configuration with its templates filled in, as of the attempt's start. */
  readonly input: JsonObject | null;
  readonly output: JsonObject | null;
  readonly outcome: string | null;
  readonly error: StepError | null;
  readonly due_at: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
}

/** What happened in a run (decisions 2.7). */
export const RUN_EVENT_TYPES = [
  'run.started',
  'run.waiting',
  'run.paused',
  'run.resumed',
  'run.completed',
  'run.cancelled',
  'step.started',
  'step.completed',
  'step.failed',
  'step.skipped',
  'step.cancelled',
  'task.created',
  'task.completed',
  'task.timed_out',
  'warning',
] as const;

/** One of them. */
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** One event of a run. `seq` begins with 1 and has no gaps. Wire names. */
export interface RunEventRecord {
  readonly seq: number;
  readonly type: RunEventType;
  readonly node_id?: string;
  readonly step_run_id?: string;
  readonly data: JsonObject;
  readonly created_at: string;
}

/** A human task that waits (specification 2, Endpoints), with more for user interfaces. Wire names. */
export interface TaskRecord {
  readonly step_run_id: string;
  readonly run_id: string;
  readonly node_id: string;
  readonly node_name: string;
  readonly status: 'waiting';
  readonly created_at: string;
  readonly definition_id: string;
  readonly assignee: string | null;
  readonly instructions: string | null;
  /** The outcomes that lead on; empty where any outcome is accepted. */
  readonly outcomes: readonly string[];
  readonly due_at: string | null;
}

/** How a person completes a task (specification 2, Human task completion payload). */
export interface TaskCompletion {
  readonly outcome?: string | undefined;
  readonly output?: JsonObject | undefined;
  readonly variables?: JsonObject | undefined;
}

/** An immutable snapshot of a graph, from which runs start. Wire names (decisions 2.3). */
export interface VersionRecord {
  readonly id: string;
  readonly definition_id: string;
  readonly version: number;
  readonly graph: Json;
  readonly published_by: string;
  readonly published_at: string;
}
