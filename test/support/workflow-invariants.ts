import type { RunEventRecord, RunRecord, StepRecord } from '../../plugins/workflow/contract/runs.ts';
import type { FreshDatabase } from './databases.ts';
import { until } from './until.ts';
import type { ServiceCall } from './workflow-service.ts';
import { type Client, STORY_CALLS, STORY_END } from './workflow-story.ts';

/** A run as the API tells of it. */
export interface ToldRun {
  readonly run: RunRecord & { readonly steps: readonly StepRecord[] };
  readonly events: readonly RunEventRecord[];
}

/** Reads a run and all its events. */
export async function readRun(client: Client, runId: string): Promise<ToldRun> {
  const { body: run } = await client(`/v1/workflow-runs/${runId}`);
  const { body } = await client(`/v1/workflow-runs/${runId}/events?limit=500`);
  return { run, events: body.events };
}

/** What is wrong with a run that should be completed, whatever its graph. */
export function faultsOfRun({ run, events }: ToldRun): string[] {
  const faults: string[] = [];
  const say = (isWrong: boolean, text: string) => isWrong && faults.push(text);
  say(run.status !== 'completed', `the run is ${run.status}: ${JSON.stringify(run.error)}`);
  const nodes = run.steps.map(({ node_id }) => node_id);
  say(new Set(nodes).size !== nodes.length, `a node has two steps: ${nodes}`);
  for (const { node_id, status } of run.steps) {
    say(status !== 'completed' && status !== 'skipped', `${node_id} is ${status}`);
  }
  say(
    events.some(({ seq }, index) => seq !== index + 1),
    `events are not 1..n: ${events.map(({ seq }) => seq)}`,
  );
  const terminal = events.filter(({ type }) => type === 'run.completed' || type === 'run.cancelled');
  say(terminal.length !== 1, `${terminal.length} terminal events`);
  say(terminal[0] !== events.at(-1), 'the terminal event is not the last one');
  say(events.filter(({ type }) => type === 'run.started').length !== 1, 'not exactly one run.started');
  const folded = fold(events);
  for (const { id, node_id, status } of run.steps) {
    say(folded.get(id) !== status, `${node_id} is ${status}, and ${folded.get(id)} by its events`);
    const ends = events.filter(
      (event) => event.step_run_id === id && /^step\.(completed|skipped)$/.test(event.type),
    );
    say(ends.length !== 1, `${node_id} ended ${ends.length} times`);
  }
  return faults;
}

/** Statuses of steps, by id, as their events tell them. */
function fold(events: readonly RunEventRecord[]): Map<string, string> {
  const statuses: Readonly<Record<string, string>> = {
    'task.created': 'waiting',
    'step.started': 'running',
    'step.completed': 'completed',
    'step.failed': 'failed',
    'step.skipped': 'skipped',
    'step.cancelled': 'cancelled',
  };
  const folded = new Map<string, string>();
  for (const { type, step_run_id: id } of events) {
    const status = statuses[type];
    if (id !== undefined && status !== undefined) folded.set(id, status);
  }
  return folded;
}

/**
 * What is wrong with what a run of `storyGraph` has done outside.
 *
 * @param losses how often it lost its worker: a step in flight was called once more each time, and nothing else was
 */
export function faultsOfStory(
  { run, events }: ToldRun,
  calls: readonly ServiceCall[],
  losses: number,
): string[] {
  const faults: string[] = [];
  const say = (isWrong: boolean, text: string) => isWrong && faults.push(text);
  const statuses = Object.fromEntries(run.steps.map(({ node_id, status }) => [node_id, status]));
  for (const [node, status] of Object.entries(STORY_END)) {
    say(statuses[node] !== status, `${node} is ${statuses[node]} in the end`);
  }
  say(run.steps.length !== Object.keys(STORY_END).length, `${run.steps.length} steps`);
  say(run.variables.isApproved !== true, 'the variables of the person are not there');
  let repeated = 0;
  for (const { id, node_id, attempt } of run.steps) {
    const own = calls.filter(({ node }) => node === node_id);
    if (!STORY_CALLS.includes(node_id)) {
      say(own.length > 0, `${node_id} has called the service`);
      continue;
    }
    repeated += own.length - 1;
    say(own.length === 0, `${node_id} has not called the service`);
    say(own.length > 1 + losses, `${node_id} has called the service ${own.length} times`);
    say(attempt !== 1, `${node_id} has attempt ${attempt}`);
    say(
      own.some(({ key }) => key !== `${id}-1`),
      `${node_id} has called with the keys ${own.map(({ key }) => key)}`,
    );
    say(new Set(own.map(({ body }) => body)).size > 1, `${node_id} has sent two bodies with one key`);
    const started = events.filter(({ type, step_run_id }) => type === 'step.started' && step_run_id === id);
    say(
      own.length > started.length,
      `${node_id} was called ${own.length} times, and started ${started.length}`,
    );
  }
  // Of a fork both arms are in flight at one time.
  say(repeated > 2 * losses, `${repeated} calls were repeated`);
  return faults;
}

/** Each row is a fault: what, and of which run. */
const FAULTS_OF_TABLES = `
  select 'a finished run has an owner or wakes somebody' as fault, id as run from workflow_runs
    where owner is not null or wake_at is not null
  union all select 'a run is not finished', id from workflow_runs where status not in ('completed', 'cancelled')
  union all select 'a node has two steps', run_id from workflow_steps group by run_id, node_id having count(*) > 1
  union all select 'a step is not over', run_id from workflow_steps
    where status not in ('completed', 'skipped', 'cancelled') or open_since is not null
  union all select 'events are not 1..seq', run.id from workflow_runs run left join workflow_events event on event.run_id = run.id
    group by run.id, run.seq having count(*) <> run.seq or max(event.seq) <> run.seq or min(event.seq) <> 1
  union all select 'a step has no run', run_id from workflow_steps where run_id not in (select id from workflow_runs)
  union all select 'an event has no run', run_id from workflow_events where run_id not in (select id from workflow_runs)
  union all select 'a start has no run', run_id from workflow_starts where run_id not in (select id from workflow_runs)
  union all select 'an event waits for a delivery that nobody wants', run_id from workflow_outbox`;

/** Longer than any lease of these tests, on a slow machine too. */
const LEASES_LAPSE_WITHIN_MS = 30_000;

/**
 * What is wrong in the tables when every run is over, looked at past the gateway. `living`: workers that may be alive
 * at most, once the leases of those that were killed have lapsed: a worker that died having nothing to do leaves
 * nothing for which anybody waits.
 */
export async function faultsOfTables(ask: FreshDatabase['ask'], living: number): Promise<string[]> {
  const faults = await ask(FAULTS_OF_TABLES);
  const countAlive = async () => {
    const workers = await ask('select expires_at from workflow_workers');
    return workers.filter((worker) => Number(worker.expires_at) > Date.now()).length;
  };
  await until(async () => (await countAlive()) <= living, LEASES_LAPSE_WITHIN_MS).catch(() => undefined);
  const alive = await countAlive();
  return [
    ...faults.map(({ fault, run }) => `${fault}: ${run}`),
    ...(alive > living ? [`${alive} workers are alive`] : []),
  ];
}
