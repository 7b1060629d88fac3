import type { Identity, Page } from 'agent-gateway';
import {
  fingerprintOf,
  type JsonObject,
  type PreparedEngine,
  type RunPlace,
  type RunRecord,
  type StepRecord,
  type TaskCompletion,
} from '../../workflow/contract.ts';
import { JobErrors, translate } from './errors.ts';
import type { Graphs } from './graphs.ts';
import { createJobEvents, type JobEvent } from './job-events.ts';
import {
  type JobRecord,
  type JobStatus,
  jobStep,
  type ListedJob,
  listedJob,
  STATUS_QUERIES,
} from './job-records.ts';

/** The caller of an operation. */
export interface JobCaller {
  readonly tenantId: string;
  readonly identity: Identity;
  /** For whom the jobs are that it starts. */
  readonly userId: string;
}

/** What a job is started with. */
export interface NewJob {
  readonly graphName: string;
  readonly input: JsonObject;
  /** The same key and content give the same job. */
  readonly idempotencyKey?: string | undefined;
}

/** Which jobs are asked for. */
export interface JobQuery extends Page {
  readonly status?: JobStatus | undefined;
  readonly graphName?: string | undefined;
}

/** What a caller sends to a job that waits. */
export interface Resumption extends TaskCompletion {
  /** Needed where several nodes wait. */
  readonly nodeId?: string | undefined;
}

/** The graphs are files and code of the deployment. */
const PUBLISHER = 'deployment';

export type Jobs = ReturnType<typeof createJobs>;

/**
 * Jobs of tenants: runs of an engine of their own. A job of another tenant is not there. Throws errors of `JobErrors`.
 */
export function createJobs({
  prepared,
  graphs,
}: {
  readonly prepared: Pick<PreparedEngine, 'open'>;
  readonly graphs: Graphs;
}) {
  const open = async () => (await prepared.open()).engine;

  async function listed(tenantId: string, runs: readonly RunRecord[]): Promise<readonly ListedJob[]> {
    const begun = await (await open()).begun(
      tenantId,
      runs.map(({ id }) => id),
    );
    return runs.map((run) => listedJob(run, begun.get(run.id)));
  }

  async function get(place: RunPlace): Promise<JobRecord> {
    const engine = await open();
    const { steps, ...run } = await engine.get(place).catch(translate);
    const [job] = await listed(place.tenantId, [run]);
    const output = run.status === 'completed' ? await engine.result(place).catch(translate) : null;
    return { ...job!, variables: run.variables, output, steps: steps.map(jobStep) };
  }

  /** All events after a number, future ones included. Ends after the last one, and when `signal` aborts. */
  async function* follow(
    place: RunPlace & { readonly after: number; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent> {
    const { tenantId, runId, after, signal } = place;
    const engine = await open();
    const eventsOf = createJobEvents(runId);
    // From the run's first event on, since the events of the job are numbered by counting them.
    for await (const event of engine.follow({ tenantId, runId, after: 0, signal })) {
      for (const job of eventsOf(event)) {
        if (job.seq <= after) continue;
        if (job.type !== 'job.completed') yield job;
        else yield { ...job, data: { output: await engine.result({ tenantId, runId }) } };
      }
      // A failure ends a job before its run ends.
      if (event.type === 'run.paused') return;
    }
  }

  /** The waiting step that a resumption refers to. */
  function waitingStep(steps: readonly StepRecord[], nodeId: string | undefined): StepRecord {
    const waiting = steps.filter(({ status }) => status === 'waiting');
    const names = waiting.map(({ node_id }) => JSON.stringify(node_id)).join(', ');
    const [first] = waiting;
    if (first === undefined) throw JobErrors.notWaiting('No node of the job waits for anybody.');
    const errors = [{ pointer: '/body/node_id', message: `must be one of ${names}` }];
    if (nodeId === undefined) {
      if (waiting.length === 1) return first;
      throw JobErrors.nodeNeeded(`Say which node is meant: ${names}.`, { errors });
    }
    const meant = waiting.find(({ node_id }) => node_id === nodeId);
    if (meant !== undefined) return meant;
    if (steps.some(({ node_id }) => node_id === nodeId))
      throw JobErrors.notWaiting(`This node does not wait. These do: ${names}.`);
    throw JobErrors.nodeNeeded(`No node of the job that was reached has this id. These wait: ${names}.`, {
      errors,
    });
  }

  return {
    get,

    /**
     * Starts a job and returns when it is stored; it runs in the background. `isNew` is false if the idempotency key
     * belongs to an existing job.
     */
    async start(
      { tenantId, identity, userId }: JobCaller,
      { graphName, input, idempotencyKey: key }: NewJob,
    ) {
      const engine = await open();
      const fingerprint = fingerprintOf({ graph_name: graphName, input });
      const idempotency = key === undefined ? undefined : { key, fingerprint };
      try {
        // Before the graph is looked up, since it may have been removed after the first start.
        const before = idempotency && (await engine.startedWith({ tenantId, idempotency }));
        if (before !== undefined) return { job: (await listed(tenantId, [before]))[0]!, isNew: false };
        const graph = graphs.get(graphName);
        const version = await engine.ensureVersion({
          tenantId,
          graph,
          definitionId: graphName,
          publishedBy: PUBLISHER,
        });
        const startedBy = identity.id;
        const { run, isNew } = await engine.start({
          tenantId,
          version,
          input,
          startedBy,
          userId,
          idempotency,
        });
        return { job: isNew ? listedJob(run, undefined) : (await listed(tenantId, [run]))[0]!, isNew };
      } catch (thrown) {
        return translate(thrown);
      }
    },

    /** Newest first. */
    async list(tenantId: string, { status, graphName, limit, offset }: JobQuery) {
      const ofStatus = status === undefined ? {} : STATUS_QUERIES[status];
      const query = { ...ofStatus, definitionId: graphName, limit, offset };
      const { runs, total } = await (await open()).list(tenantId, query);
      return { jobs: await listed(tenantId, runs), total };
    },

    /** Cancels a job; a second call gives the same. Throws `job.ended` for one that is completed or has failed. */
    async cancel({ tenantId, identity }: JobCaller, jobId: string): Promise<JobRecord> {
      const place = { tenantId, runId: jobId };
      const run = await (await open()).cancel({ ...place, by: identity.id }).catch(translate);
      if (run.error !== null) throw JobErrors.ended('The job has failed: there is nothing left to cancel.');
      return get(place);
    },

    /**
     * Completes the human task that a job waits for. Of several simultaneous calls one wins; the others throw
     * `job.not-waiting`.
     */
    async resume(
      { tenantId, identity }: JobCaller,
      jobId: string,
      resumption: Resumption,
    ): Promise<JobRecord> {
      const engine = await open();
      const place = { tenantId, runId: jobId };
      const { nodeId, ...completion } = resumption;
      const { steps } = await engine.get(place).catch(translate);
      const stepRunId = waitingStep(steps, nodeId).id;
      await engine.completeTask({ tenantId, stepRunId, identity, completion, once: true }).catch(translate);
      return get(place);
    },

    follow,

    /** Whether a job has ended and has no event after a number. Throws `job.not-found`. */
    async isRead(place: RunPlace, after: number): Promise<boolean> {
      const { status } = await (await open()).get(place).catch(translate);
      if (after === 0 || (status !== 'completed' && status !== 'cancelled')) return false;
      for await (const _ of follow({ ...place, after, signal: new AbortController().signal })) return false;
      return true;
    },
  };
}
