import { defineErrors, type ErrorExtras, type Identity, serviceRef } from 'agent-gateway';
import type { Graph, GraphProblem, JsonObject } from './graph.ts';
import type { RunEventRecord, RunRecord, RunStatus, StepRecord, TaskCompletion, TaskRecord } from './runs.ts';

const catalogue = defineErrors({
  definitionNotFound: {
    code: 'workflow.definition-not-found',
    kind: 'not-found',
    title: 'There is no such workflow definition',
  },
  versionNotFound: {
    code: 'workflow.version-not-found',
    kind: 'not-found',
    title: 'The definition has no such version',
  },
  runNotFound: { code: 'workflow.run-not-found', kind: 'not-found', title: 'There is no such workflow run' },
  taskNotFound: { code: 'workflow.task-not-found', kind: 'not-found', title: 'There is no such human task' },
  stepNotFound: { code: 'workflow.step-not-found', kind: 'not-found', title: 'There is no such step run' },
  /** 400; `errors` has all problems, with `code`, `pointer`, `node` and `edge`. */
  graphInvalid: { code: 'workflow.graph-invalid', kind: 'invalid', title: 'The graph breaks a rule' },
  /** 409 */
  notPublished: {
    code: 'workflow.not-published',
    kind: 'conflict',
    title: 'The definition has no published version',
  },
  archived: { code: 'workflow.archived', kind: 'conflict', title: 'The definition is archived' },
  published: {
    code: 'workflow.published',
    kind: 'conflict',
    title: 'A published definition cannot be deleted',
  },
  readOnly: {
    code: 'workflow.read-only',
    kind: 'conflict',
    title: 'The workflow is a file of the deployment',
  },
  /** 412 */
  revisionMismatch: {
    code: 'workflow.revision-mismatch',
    kind: 'precondition-failed',
    title: 'The definition was changed by somebody else',
  },
  notPaused: { code: 'workflow.not-paused', kind: 'conflict', title: 'The run is not paused' },
  alreadyCompleted: {
    code: 'workflow.already-completed',
    kind: 'conflict',
    title: 'The run is already completed',
  },
  notAssigned: {
    code: 'workflow.not-assigned',
    kind: 'forbidden',
    title: 'The task is assigned to somebody else',
  },
  /** For listing the tasks of all users. */
  allTasksForbidden: {
    code: 'workflow.all-tasks-forbidden',
    kind: 'forbidden',
    title: 'Only administrators may list the tasks of everybody',
  },
  taskNotOpen: {
    code: 'workflow.task-not-open',
    kind: 'conflict',
    title: 'The step is not a human task that waits',
  },
  taskCompleted: {
    code: 'workflow.task-completed',
    kind: 'conflict',
    title: 'The task was completed with another payload',
  },
  outcomeNotRoutable: {
    code: 'outcome_not_routable',
    kind: 'invalid',
    title: 'No edge leads on from this outcome',
  },
  idempotencyMismatch: {
    code: 'workflow.idempotency-mismatch',
    kind: 'conflict',
    title: 'The idempotency key was used with another body',
  },
  contextTooLarge: {
    code: 'workflow.context-too-large',
    kind: 'too-large',
    title: 'The data of the run are too large',
  },
  /** Too many callers changed the run, or the definition, at the same time. Carries `retry-after`. */
  busy: {
    code: 'workflow.busy',
    kind: 'unavailable',
    title: 'This is changed by too many at once',
    retryAfter: 1,
  },
});

/** What workflows answer with. */
export const WorkflowErrors: typeof catalogue = {
  ...catalogue,
  busy: Object.assign(
    (detail = 'It is changed by too many at once. Try again.', extras?: ErrorExtras) =>
      catalogue.busy(detail, extras),
    catalogue.busy,
  ),
};

/** A version from which runs can start. */
export interface StartableVersion {
  readonly id: string;
  readonly definitionId: string;
  readonly version: number;
}

/** How a run starts. */
export interface StartRequest {
  readonly tenantId: string;
  readonly version: StartableVersion;
  readonly input: JsonObject;
  /** The identity that starts it. */
  readonly startedBy: string;
  /**
   * The user for whom it starts it, as `X-Svc-User-Id` names one: agents work for this user, and the run is exported
   * and erased with the user. Default: the identity.
   */
  readonly userId?: string | undefined;
  /** The same key and body give the same run; the same key with another body is `workflow.idempotency-mismatch`. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
}

/** The result of a start. */
export interface Started {
  readonly run: RunRecord;
  /** False if the idempotency key belongs to an existing run. */
  readonly isNew: boolean;
}

/** Which run. */
export interface RunPlace {
  readonly tenantId: string;
  readonly runId: string;
}

/** Filter of a list of runs. Newest first. */
export interface RunQuery {
  readonly definitionId?: string | undefined;
  readonly status?: RunStatus | undefined;
  /** By the start: from this time on, and before that one. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /**
   * Runs of which a worker took a step, or a person could complete one; false: runs that wait for their first worker.
   */
  readonly hasBegun?: boolean | undefined;
  /** Runs of which a step failed for good, and that were not retried since; false: the others. */
  readonly hasFailed?: boolean | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A step with its attempts, oldest first. */
export interface StepHistory extends StepRecord {
  readonly attempts: readonly AttemptRecord[];
}

/** One delivery of one attempt of a step, from the run's events. Wire names. */
export interface AttemptRecord {
  readonly attempt: number;
  readonly delivery: number;
  /** `interrupted`: its worker was lost or stopped, and it was delivered again. */
  readonly status: 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted';
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly error: JsonObject | null;
  /** What the node type reports of it; redacted. */
  readonly record: JsonObject | null;
}

/**
 * Runs of workflows over one database. All that comes out is redacted. Every method throws errors of `WorkflowErrors`,
 * and those of the database.
 */
export interface WorkflowEngine {
  /** Makes sure that a version of this content exists for a tenant; the same content gives the same version. */
  ensureVersion(request: {
    readonly tenantId: string;
    /** 1 to 128 characters. */
    readonly definitionId: string;
    readonly graph: Graph;
    readonly publishedBy: string;
  }): Promise<StartableVersion>;
  /** Starts a run and returns when it is durable; it continues in the background. */
  start(request: StartRequest): Promise<Started>;
  /**
   * The run that an earlier start with an idempotency key created; undefined for a new key. Throws
   * `workflow.idempotency-mismatch`.
   */
  startedWith(
    request: Pick<StartRequest, 'tenantId'> & {
      readonly idempotency: NonNullable<StartRequest['idempotency']>;
    },
  ): Promise<RunRecord | undefined>;
  get(place: RunPlace): Promise<RunRecord & { readonly steps: readonly StepRecord[] }>;
  list(
    tenantId: string,
    query: RunQuery,
  ): Promise<{ readonly runs: readonly RunRecord[]; readonly total: number }>;
  /**
   * When a worker took the first step of each of these runs, or a person could complete it (RFC 3339); runs that have
   * not begun are missing.
   */
  begun(tenantId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Cancels a run; a second call returns the same. Throws `workflow.already-completed`. */
  cancel(place: RunPlace & { readonly by: string }): Promise<RunRecord>;
  /** Runs every failed step again. Throws `workflow.not-paused`. */
  retry(place: RunPlace & { readonly by: string }): Promise<RunRecord>;
  /** The waiting tasks that an identity may complete; `identity` absent: all of the tenant. Oldest first. */
  tasks(query: {
    readonly tenantId: string;
    readonly identity?: Identity | undefined;
    readonly limit: number;
    readonly offset: number;
  }): Promise<readonly TaskRecord[]>;
  /**
   * Completes a task. The first completion wins; a repetition with the same payload returns the same step, or with
   * `once` is refused like any other payload (`workflow.task-completed`). `identity` absent: on behalf of the system.
   */
  completeTask(request: {
    readonly tenantId: string;
    readonly stepRunId: string;
    readonly identity?: Identity | undefined;
    readonly completion: TaskCompletion;
    readonly once?: boolean | undefined;
  }): Promise<StepRecord>;
  /**
   * The merged outputs of the nodes that lead into `end` by an edge that was taken; null while the run is not
   * completed.
   */
  result(place: RunPlace): Promise<JsonObject | null>;
  /** One step with its attempts. */
  step(place: RunPlace & { readonly stepRunId: string }): Promise<StepHistory>;
  /** Events after a number, oldest first. */
  events(
    place: RunPlace & { readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly events: readonly RunEventRecord[]; readonly total: number }>;
  /** All events after a number, future ones included; ends after the run's terminal event, and when `signal` aborts. */
  follow(
    place: RunPlace & { readonly after?: number | undefined; readonly signal: AbortSignal },
  ): AsyncIterable<RunEventRecord>;
  /**
   * Resolves when the run is no longer `running`, or with its current state when the time is over or `signal` aborts.
   */
  settled(place: RunPlace & { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<RunRecord>;
}

/** Workflows by id or name. */
export interface WorkflowDefinitions {
  /**
   * The version that runs start from now: of a published definition of the tenant, by its id, or of a `kind: Workflow`
   * of agents.d, by its name. Throws `workflow.definition-not-found`, `workflow.not-published`, `workflow.archived`.
   */
  resolve(tenantId: string, idOrName: string): Promise<StartableVersion>;
  /** The id and name of a workflow, published or not. Throws `workflow.definition-not-found`. */
  describe(tenantId: string, idOrName: string): Promise<WorkflowInfo>;
  /**
   * The `kind: Workflow` of agents.d of this name, as it is now, for an engine of another plugin. Undefined: there is
   * none. Throws `workflow.not-published` for one that cannot run now.
   */
  file(name: string): Graph | undefined;
  /** The names of all `kind: Workflow` of agents.d. */
  fileNames(): readonly string[];
  /** All problems of a graph, by the rules for publishing; none: an engine may run it. */
  check(graph: Graph): readonly GraphProblem[];
}

/** How users identify a workflow. Wire names. */
export interface WorkflowInfo {
  /** A UUID; of a file its name. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly status: 'draft' | 'published' | 'archived';
  /** Null before the first publishing, and for files. */
  readonly latest_version: number | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The definitions that the gateway's own engine runs. */
export const WorkflowDefinitionsRef = serviceRef<WorkflowDefinitions>('workflow.definitions');
/** The gateway's own engine, over its database. */
export const WorkflowEngineRef = serviceRef<WorkflowEngine>('workflow.engine');
