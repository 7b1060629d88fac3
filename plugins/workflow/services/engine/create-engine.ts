import { mapLimited, mapWithPauses } from 'agent-gateway';
import { storedName } from '../../../records/contract.ts';
import { type RunPlace, type WorkflowEngine, WorkflowErrors } from '../../contract/engine.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { RunRecord, TaskCompletion } from '../../contract/runs.ts';
import type { RunQueries } from '../../store/run-queries.ts';
import type { Versions } from '../../store/versions.ts';
import { type Command, SYSTEM } from '../core/commands.ts';
import { type RunState, resultOf, type StepState, timestamp } from '../core/state.ts';
import type { Followers } from '../follow/create-followers.ts';
import { jsonFault } from '../graph/json.ts';
import type { Graphs } from '../graphs.ts';
import type { RunStore } from '../ports/run-store.ts';
import type { Runner } from '../runner/runner.ts';
import { toEventRecord, toRunRecord, toStepRecord, toStepRecords, toTaskRecord } from '../views/records.ts';
import { type Redactor, redactJson } from '../views/redaction.ts';
import { toStepHistory } from '../views/step-history.ts';
import { assigneesOf, refusalOf, requireAssignee } from './refusals.ts';

/** Bytes of JSON that the input of a run may have. */
const MAX_INPUT = 512 * 1024;
/** Levels of JSON that it may have. */
const MAX_INPUT_DEPTH = 256;
/**
 * Events of one step that its history is made of: ten attempts, each delivered four times at most, need less than a
 * tenth.
 */
const MAX_STEP_EVENTS = 1_000;
/** Graphs of one list that are read at one time: each task may have its own, and readers share a bound on loads. */
const GRAPHS_AT_ONCE = 16;
const OTHER_BODY =
  'Another run was started with this key and another body. To start a new run, send a new key; to learn of the first, send its body again.';
const COMPLETED_BEFORE = 'The task was completed before.';

/** What an engine works with. */
export interface EngineParts {
  readonly runner: Pick<Runner, 'start' | 'apply'>;
  readonly store: Pick<RunStore, 'read'>;
  readonly queries: RunQueries;
  readonly versions: Pick<Versions, 'ensure'>;
  readonly graphs: Graphs;
  readonly followers: Pick<Followers, 'follow' | 'settled'>;
  readonly redactor: Redactor;
}

/**
 * The engine that routes and other plugins use: asks the runner, reads the store, and gives out nothing that was not
 * redacted.
 */
export function createEngine(parts: EngineParts): WorkflowEngine {
  const { runner, store, queries, versions, graphs, followers, redactor } = parts;

  async function read(place: RunPlace): Promise<RunState> {
    return (await store.read(place)) ?? notFound();
  }

  /** Applies a caller's command, and throws the error for a refusal. */
  async function apply(place: RunPlace, command: Command): Promise<RunState> {
    const applied = await runner.apply(place, command);
    if (applied === undefined) return notFound();
    const refusal = refusalOf(applied);
    if (refusal !== undefined) throw refusal;
    return applied.state;
  }

  async function completeTask(
    place: RunPlace,
    step: StepState,
    by: string,
    payload: TaskCompletion,
    isOnce: boolean,
  ): Promise<StepState> {
    // Who may complete it was decided by this attempt of the task.
    const { id: stepId, attempt } = step;
    const applied = await runner.apply(place, { type: 'task_completed', stepId, attempt, by, payload });
    if (applied === undefined) throw WorkflowErrors.taskNotFound();
    const { state, verdict } = applied;
    if (isOnce && verdict === 'unchanged') throw WorkflowErrors.taskCompleted(COMPLETED_BEFORE);
    const now = state.steps.get(step.nodeId) ?? step;
    const graph = verdict === 'outcome-not-routable' ? await graphOf(state) : undefined;
    const refusal = refusalOf(applied, {
      step: now,
      payload,
      graph,
      redact: (text) => redactor.redact(text),
    });
    if (refusal !== undefined) throw refusal;
    return now;
  }

  /** The run that an earlier start with an idempotency key created. */
  async function startedBefore(
    tenantId: string,
    { runId, fingerprint }: { readonly runId: string; readonly fingerprint: string },
    asked: string | undefined,
  ): Promise<RunRecord> {
    if (fingerprint !== asked) throw WorkflowErrors.idempotencyMismatch(OTHER_BODY);
    const place = { tenantId, runId };
    return toRunRecord((await queries.head(place)) ?? notFound(), redactor);
  }

  const graphOf = ({ tenantId, versionId }: Pick<RunState, 'tenantId' | 'versionId'>) =>
    graphs.get(tenantId, versionId);

  return {
    async ensureVersion(request) {
      const { id, definitionId, version } = await versions.ensure(request);
      return { id, definitionId, version };
    },

    async start({ tenantId, version, input, startedBy, userId = startedBy, idempotency }) {
      requireFittingInput(input);
      const started = await runner.start({
        tenantId,
        input,
        startedBy,
        userId: storedName(userId),
        idempotency,
        definitionId: version.definitionId,
        versionId: version.id,
        version: version.version,
      });
      if ('state' in started) return { run: toRunRecord(started.state, redactor), isNew: true };
      const run = await startedBefore(tenantId, started.existing, idempotency?.fingerprint);
      return { run, isNew: false };
    },

    async startedWith({ tenantId, idempotency }) {
      const existing = await queries.startOf(tenantId, idempotency.key);
      return existing && startedBefore(tenantId, existing, idempotency.fingerprint);
    },

    async get(place) {
      const run = await read(place);
      const steps = await toStepRecords(run, await graphOf(run), redactor);
      return { ...toRunRecord(run, redactor), steps };
    },

    async begun(tenantId, runIds) {
      const begun = await queries.begun(tenantId, runIds);
      return new Map([...begun].map(([id, at]) => [id, timestamp(at)]));
    },

    async list(tenantId, query) {
      const { runs, total } = await queries.list(tenantId, query);
      return { runs: await mapWithPauses(runs, (run) => toRunRecord(run, redactor)), total };
    },

    async cancel({ tenantId, runId, by }) {
      return toRunRecord(await apply({ tenantId, runId }, { type: 'cancel', by }), redactor);
    },

    async retry({ tenantId, runId, by }) {
      return toRunRecord(await apply({ tenantId, runId }, { type: 'retry', by }), redactor);
    },

    async tasks({ tenantId, identity, limit, offset }) {
      const filter = { assignees: identity && assigneesOf(identity), limit, offset };
      const open = await queries.openTasks(tenantId, filter);
      const found = await mapLimited(open, GRAPHS_AT_ONCE, async (task) => ({
        task,
        graph: await graphs.get(tenantId, task.versionId),
      }));
      return mapWithPauses(found, ({ task, graph }) => toTaskRecord(task, graph, redactor));
    },

    async completeTask({ tenantId, stepRunId, identity, completion, once = false }) {
      const found = await queries.runAndStep(tenantId, stepRunId);
      if (found === undefined) throw WorkflowErrors.taskNotFound();
      const { runId, step } = found;
      const place = { tenantId, runId };
      if (identity !== undefined) requireAssignee(step.assignee, identity);
      const completed = await completeTask(place, step, identity?.id ?? SYSTEM, completion, once);
      return toStepRecord(runId, completed, redactor);
    },

    async result(place) {
      const state = await read(place);
      const result = resultOf(await graphOf(state), state);
      return result && redactJson(redactor, result);
    },

    async step({ stepRunId, ...place }) {
      const step = await queries.step({ ...place, stepId: stepRunId });
      if (step === undefined) throw WorkflowErrors.stepNotFound();
      const events = await queries.eventsOfStep({ ...place, stepId: step.id, limit: MAX_STEP_EVENTS });
      return toStepHistory(toStepRecord(place.runId, step, redactor), events);
    },

    async events(place) {
      const { events, total } = await queries.events(place);
      // Every run has events: without any there is no such run.
      return total === 0 ? notFound() : { events: events.map(toEventRecord), total };
    },

    follow: ({ after = 0, signal, ...place }) => followers.follow(place, after, signal),

    async settled({ timeoutMs, signal, ...place }) {
      const run = await followers.settled(place, timeoutMs, signal);
      return toRunRecord(run ?? (await queries.head(place)) ?? notFound(), redactor);
    },
  };
}

/** The message does not repeat the id: a run of another tenant is answered like one that never existed. */
function notFound(): never {
  throw WorkflowErrors.runNotFound();
}

function requireFittingInput(input: JsonObject): void {
  if (jsonFault(input, { depth: MAX_INPUT_DEPTH }) !== undefined) {
    throw WorkflowErrors.contextTooLarge(
      `The input is no JSON of at most ${MAX_INPUT_DEPTH} levels. Make it flatter.`,
    );
  }
  const bytes = Buffer.byteLength(JSON.stringify(input));
  if (bytes <= MAX_INPUT) return;
  throw WorkflowErrors.contextTooLarge(
    `The input has ${bytes} bytes of JSON, ${MAX_INPUT} are allowed. Put large data where the steps can fetch them, and pass the address.`,
  );
}
