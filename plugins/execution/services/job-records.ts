import type { JsonObject, RunQuery, RunRecord, StepError, StepRecord } from '../../workflow/contract.ts';

/** Where a job stands (decisions 3.7). `pending`: no worker has taken a step of it yet. The last three are final. */
export const JOB_STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const;

export type JobStatus = (typeof JOB_STATUSES)[number];

/** Why a job, or a step of it, failed. Wire names. */
export interface JobError {
  /** Stable: the codes of step errors of workflows. */
  readonly code: string;
  readonly message: string;
  readonly node_id?: string;
}

/** A step of a job. Wire names. */
export type JobStep = Omit<StepRecord, 'id' | 'run_id' | 'error'> & { readonly error: JobError | null };

/** A job as lists show it. Wire names. */
export interface ListedJob {
  readonly job_id: string;
  readonly graph_name: string;
  readonly status: JobStatus;
  readonly input: JsonObject;
  readonly error: JobError | null;
  readonly created_at: string;
  /** Null while it is pending. */
  readonly started_at: string | null;
  readonly completed_at: string | null;
}

/** A single job as answers show it. Wire names. */
export interface JobRecord extends ListedJob {
  readonly variables: JsonObject;
  /** The merged outputs of the nodes that lead into an end; null while it is not completed. */
  readonly output: JsonObject | null;
  readonly steps: readonly JobStep[];
}

/** Converts a run to a job. `begunAt`: when its first step began, if it did. Pure. */
export function listedJob(run: RunRecord, begunAt: string | undefined): ListedJob {
  return {
    job_id: run.id,
    graph_name: run.definition_id,
    status: statusOf(run, begunAt !== undefined),
    input: run.input,
    error: run.error && jobError(run.error),
    created_at: run.started_at,
    started_at: begunAt ?? null,
    completed_at: run.completed_at,
  };
}

/** The engine ends runs that fail as cancelled ones with an error (`endsOnFailure`). */
function statusOf({ status, error }: Pick<RunRecord, 'status' | 'error'>, hasBegun: boolean): JobStatus {
  switch (status) {
    case 'running':
      return hasBegun ? 'running' : 'pending';
    case 'paused':
      return 'failed';
    case 'cancelled':
      return error === null ? 'cancelled' : 'failed';
    default:
      return status;
  }
}

/** The query that finds the runs whose jobs have a status: the inverse of `statusOf`. */
export const STATUS_QUERIES: Readonly<Record<JobStatus, Partial<RunQuery>>> = {
  pending: { status: 'running', hasBegun: false },
  running: { status: 'running', hasBegun: true },
  waiting: { status: 'waiting' },
  completed: { status: 'completed' },
  failed: { status: 'cancelled', hasFailed: true },
  cancelled: { status: 'cancelled', hasFailed: false },
};

export function jobStep({ id: _id, run_id: _run, error, ...step }: StepRecord): JobStep {
  return { ...step, error: error && jobError(error) };
}

export function jobError({ code, message, node }: StepError): JobError {
  return { code, message, ...(node !== undefined && { node_id: node }) };
}
