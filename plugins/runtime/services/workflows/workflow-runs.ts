import { cozeCode, defineErrors, type Identity, requireSound } from 'agent-gateway';
import {
  type JsonObject,
  type RunPlace,
  type RunRecord,
  type StartableVersion,
  type StepRecord,
  type WorkflowDefinitions,
  type WorkflowEngine,
  WorkflowErrors,
} from '../../../workflow/contract.ts';
import { completionOf, resumeProblems } from './resume-data.ts';
import { reasonOf, workflowEvents } from './workflow-stream.ts';

/** Milliseconds for which a synchronous call waits for its run. */
const WAIT_MS = 240_000;

/** Events of a run that are read at one time. */
const PAGE = 100;

/** The errors of runs, in addition to those of the engine. */
export const WorkflowRunErrors = defineErrors({
  unavailable: {
    code: 'workflow.unavailable',
    kind: 'unavailable',
    title: 'This gateway runs without workflows',
  },
  waits: { code: 'workflow.waits', kind: 'conflict', title: 'The run waits for somebody' },
  cancelled: { code: 'workflow.cancelled', kind: 'conflict', title: 'The run was cancelled' },
  failed: { code: 'workflow.failed', kind: 'upstream', title: 'The run failed' },
  timeout: { code: 'workflow.timeout', kind: 'timeout', title: 'The run takes longer than a request may' },
});

/** The caller of runs. */
export interface RunCaller {
  readonly tenantId: string;
  readonly identity: Identity;
  /** For whom the runs are that it starts. */
  readonly userId: string;
}

/** The workflow plugin, which may be absent. */
interface WorkflowParts {
  readonly workflows: WorkflowEngine | undefined;
  readonly definitions: WorkflowDefinitions | undefined;
}

/** Workflows as the compatible SDK runs them (decisions 3.3). */
export type WorkflowRuns = ReturnType<typeof createWorkflowRuns>;

/** Makes the service. Every method throws `workflow.unavailable`, and what the engine throws. */
export function createWorkflowRuns({ workflows, definitions }: WorkflowParts) {
  function there() {
    if (workflows === undefined || definitions === undefined) throw WorkflowRunErrors.unavailable();
    return { engine: workflows, definitions };
  }

  async function get({ tenantId }: RunCaller, workflowId: string, runId: string): Promise<RunRecord> {
    // The definition itself may be gone: runs of a file of agents.d go on without it.
    const run = await there().engine.get({ tenantId, runId });
    if (run.definition_id !== workflowId) throw WorkflowErrors.runNotFound();
    return run;
  }

  return {
    /** What a run starts from: a published definition, by its id, or a file, by its name. */
    resolve: ({ tenantId }: RunCaller, workflowId: string): Promise<StartableVersion> =>
      there().definitions.resolve(tenantId, workflowId),

    /** Starts a run. It continues without its caller. */
    async start(
      { tenantId, identity, userId }: RunCaller,
      version: StartableVersion,
      input: JsonObject,
    ): Promise<RunPlace> {
      const startedBy = identity.id;
      const { run } = await there().engine.start({ tenantId, version, input, startedBy, userId });
      return { tenantId, runId: run.id };
    },

    /** Finds an existing run. Throws `workflow.run-not-found`, also for a run of another workflow. */
    async find(caller: RunCaller, workflowId: string, runId: string): Promise<RunPlace> {
      const { id } = await get(caller, workflowId, runId);
      return { tenantId: caller.tenantId, runId: id };
    },

    /** What became of a run, in the SDK's words. Throws `workflow.run-not-found` like `find`. */
    async history(caller: RunCaller, workflowId: string, runId: string) {
      const run = await get(caller, workflowId, runId);
      const { status, started_at, updated_at } = run;
      const isCompleted = status === 'completed';
      const place = { tenantId: caller.tenantId, runId };
      const output = isCompleted ? JSON.stringify((await there().engine.result(place)) ?? {}) : '';
      const failure =
        status === 'paused' ? reasonOf(run) : status === 'cancelled' ? 'The run was cancelled' : undefined;
      return {
        execute_status: isCompleted ? 'Success' : failure === undefined ? 'Running' : 'Fail',
        output,
        error_code: failure === undefined ? '' : String(cozeCode({ kind: 'upstream' })),
        error_message: failure ?? '',
        create_time: secondsOf(started_at),
        update_time: secondsOf(updated_at),
      } as const;
    },

    /**
     * Waits for the result of a run that needs no person. Throws `workflow.waits`, `.failed`, `.cancelled`, `.timeout`.
     */
    async result(place: RunPlace, signal: AbortSignal): Promise<JsonObject> {
      const { engine } = there();
      const run = await engine.settled({ ...place, timeoutMs: WAIT_MS, signal });
      const final = { retryable: false };
      switch (run.status) {
        case 'completed':
          return (await engine.result(place)) ?? {};
        case 'waiting':
          throw WorkflowRunErrors.waits(
            `The run ${run.id} waits for somebody: stream it, and resume it`,
            final,
          );
        case 'paused':
          throw WorkflowRunErrors.failed(`The run ${run.id} failed: ${reasonOf(run)}`, final);
        case 'cancelled':
          throw WorkflowRunErrors.cancelled(`The run ${run.id} was cancelled`, final);
        case 'running':
          throw WorkflowRunErrors.timeout(`The run ${run.id} goes on: stream it`, final);
      }
    },

    /** The events of a run's stream, from its stored events. */
    events: (place: RunPlace, from: { readonly after: number | undefined; readonly signal: AbortSignal }) =>
      workflowEvents(there().engine, place, from),

    /**
     * Completes the task of an interrupt. Returns the run, the completed step, and the `seq` after which its events
     * continue: that before the task's completion, also where the call is a repetition. Throws `request.invalid` for
     * data with problems.
     */
    async resume(
      caller: RunCaller,
      workflowId: string,
      { eventId, data }: { readonly eventId: string; readonly data: string | JsonObject },
    ): Promise<{ readonly place: RunPlace; readonly step: StepRecord; readonly after: number }> {
      const { engine } = there();
      const [runId = '', stepRunId = ''] = eventId.split('/');
      const { tenantId, identity } = caller;
      const place = await this.find(caller, workflowId, runId);
      await engine.step({ ...place, stepRunId });
      const { total } = await engine.events({ ...place, limit: 0 });
      requireSound(resumeProblems(data));
      const step = await engine.completeTask({
        tenantId,
        stepRunId,
        identity,
        completion: completionOf(data),
      });
      const completion = (after: number) => beforeCompletion(engine, { ...place, stepRunId }, after);
      return { place, step, after: (await completion(total)) ?? (await completion(0)) ?? total };
    },

    describe: ({ tenantId }: RunCaller, workflowId: string) =>
      there().definitions.describe(tenantId, workflowId),
  };
}

const secondsOf = (moment: string) => Math.floor(Date.parse(moment) / 1000);

/** Finds the number of the event before a step's completion, which is searched after `after`. */
async function beforeCompletion(
  engine: WorkflowEngine,
  { stepRunId, ...place }: RunPlace & { readonly stepRunId: string },
  after: number,
): Promise<number | undefined> {
  const { events } = await engine.events({ ...place, after, limit: PAGE });
  const completed = events.find(
    ({ type, step_run_id }) => type === 'step.completed' && step_run_id === stepRunId,
  );
  if (completed !== undefined) return completed.seq - 1;
  const last = events.at(-1);
  return last && beforeCompletion(engine, { ...place, stepRunId }, last.seq);
}
