import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { gatewayDatabase } from '../support/databases.ts';
import { chosen } from '../support/sample.ts';
import { until } from '../support/until.ts';
import {
  FORMS,
  type Form,
  nameOf,
  replicaEnvironment,
  startReplica,
  startReplicaProcess,
  startRun,
  statusOf,
} from '../support/workflow-gateways.ts';
import { faultsOfRun, faultsOfTables, readRun } from '../support/workflow-invariants.ts';
import { startWorkflowService, type WorkflowService } from '../support/workflow-service.ts';
import { type Client, calls, chain, publish } from '../support/workflow-story.ts';

const DEADLINE_MS = 90_000;
/** With `WORKFLOW_DEFAULTS=1` the gaps are measured with the settings that gateways have by themselves. */
const DEFAULTS = process.env.WORKFLOW_DEFAULTS === '1';
const NODES = ['a', 'b', 'c', 'd', 'e', 'f'];
const RUNS = 24;

/** Two replicas that carry out runs of six calls each; the first one is a process that may be lost. */
async function setUp(t: ExecutionContext, form: Form, env: Record<string, string>) {
  t.timeout(5 * DEADLINE_MS);
  const fresh = await gatewayDatabase(t, form.family);
  if (fresh === undefined) return undefined;
  const service = await startWorkflowService(t, () => pause(300, 200));
  const variables = await replicaEnvironment(t, form, fresh, service, DEFAULTS ? {} : env);
  if (variables === undefined) return undefined;
  const stays = await startReplica(t, variables);
  const lost = await startReplicaProcess(t, { ...variables, SVC_STOP_DELAY: '1s' });
  const nodes = NODES.map((id) => calls(service.url, id));
  const definition = await publish(stays.request, chain(...nodes));
  return { fresh, service, stays, lost, definition };
}

/** Runs that were started, by the name of their story. */
type Runs = Map<string, string>;

async function startSome(client: Client, definition: string, name: string, runs: Runs): Promise<void> {
  const some = Array.from({ length: RUNS }, async (_, index) => {
    const story = `${name}-${index}-`;
    runs.set(story, await startRun(client, definition, story));
  });
  await Promise.all(some);
}

/**
 * Waits for the end of all runs, and gives the longest time that one of them stood still: from one of its calls to the
 * next.
 */
async function longestGap(
  t: ExecutionContext,
  client: Client,
  service: WorkflowService,
  runs: Runs,
  callsPerKey: number,
): Promise<number> {
  let longest = 0;
  for (const [story, id] of runs) {
    await until(async () => (await statusOf(client, id)) === 'completed', DEADLINE_MS);
    const told = await readRun(client, id);
    t.deepEqual(faultsOfRun(told), [], story);
    const failed = told.events.filter(({ type }) => type === 'step.failed' || type === 'run.paused');
    t.deepEqual(failed, [], story);
    const own = service.of(story);
    for (const node of NODES) {
      const step = told.run.steps.find(({ node_id }) => node_id === node)!;
      const keys = own.filter((call) => call.node === node).map(({ key }) => key);
      t.true(keys.length >= 1 && keys.length <= callsPerKey, `${story} ${node}: ${keys.length} calls`);
      t.deepEqual([...new Set(keys)], [`${step.id}-1`]);
    }
    for (const [index, { at }] of own.slice(1).entries()) longest = Math.max(longest, at - own[index]!.at);
  }
  return Math.round(longest);
}

// One of them here: what differs between them are leases and messages, whose rules have tests on each.
for (const form of chosen('lost replica', FORMS, 1)) {
  const name = nameOf(form);

  test(`${name}: the runs of a replica that is killed go on on another`, async (t) => {
    const parts = await setUp(t, form, { WORKFLOW_LEASE: '6s', WORKFLOW_SWEEP_INTERVAL: '1s' });
    if (parts === undefined) return;
    const { fresh, service, stays, lost, definition } = parts;
    const runs: Runs = new Map();
    await startSome(stays.request, definition, 'stays', runs);
    await startSome(lost.request, definition, 'lost', runs);
    await until(() => [...runs.keys()].every((story) => service.of(story).length > 0), DEADLINE_MS);

    await lost.stop('SIGKILL');

    const gap = await longestGap(t, stays.request, service, runs, 2);
    const repeated = service.calls.length - runs.size * NODES.length;
    t.log(`${repeated} calls were repeated; the longest gap of a run was ${gap} ms`);
    t.true(repeated > 0 && repeated <= RUNS, `${repeated} calls were repeated`);
    if (DEFAULTS) t.true(gap < 20_000, `${gap} ms`);
    t.deepEqual(await faultsOfTables(fresh.ask, 1), []);
  });

  test(`${name}: a replica that is stopped under load hands over at once, and no request fails`, async (t) => {
    const parts = await setUp(t, form, { WORKFLOW_LEASE: '60s', WORKFLOW_SWEEP_INTERVAL: '2s' });
    if (parts === undefined) return;
    const { fresh, service, stays, lost, definition } = parts;
    const runs: Runs = new Map();
    await startSome(lost.request, definition, 'lost', runs);
    let isLeaving = false;
    const starters = Array.from({ length: 4 }, async (_, index) => {
      for (let round = 0; !isLeaving; round += 1) {
        const story = `more-${index}-${round}-`;
        const answer = await lost.request('/v1/workflow-runs', {
          method: 'POST',
          body: { definition_id: definition, input: { story } },
        });
        t.is(answer.status, 201, JSON.stringify(answer.body));
        runs.set(story, answer.body.id);
        // Each answer of a gateway that is about to stop asks its client to go elsewhere.
        isLeaving ||= answer.headers.get('connection') === 'close';
        await pause(100);
      }
    });

    const { code, stdout } = await lost.stop();

    await Promise.all(starters);
    t.is(code, 0);
    t.notRegex(stdout, /"level":"(error|fatal)"/);
    const gap = await longestGap(t, stays.request, service, runs, 1);
    t.log(`${runs.size} runs; the longest gap of a run was ${gap} ms`);
    t.true(gap < (DEFAULTS ? 9_000 : 30_000), `${gap} ms: a run waited for the lease`);
    t.deepEqual(await faultsOfTables(fresh.ask, 1), []);
  });
}
