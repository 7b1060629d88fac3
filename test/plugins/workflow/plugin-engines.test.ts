import type { Database } from 'agent-gateway';
import test, { type ExecutionContext } from 'ava';
import {
  type DeliveredEvent,
  EventSinksPoint,
  type WorkflowEngine,
  WorkflowEnginesRef,
} from '../../../plugins/workflow/contract.ts';
import { eachGatewayDatabase, type FreshDatabase, gatewayDatabase } from '../../support/databases.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { hold, shout, startWorkflows, typesPlugin } from './plugin-kit.ts';
import { chain } from './routes/runs-gateway.ts';

const TENANT = '00000000-0000-0000-0000-000000000001';
const SIGNAL = new AbortController().signal;

/**
 * A gateway with a plugin that has engines of its own: `jobs` in memory, `tasks` and `told` in the gateway's database.
 */
async function startEngines(t: ExecutionContext, fresh: FreshDatabase, env: Record<string, string> = {}) {
  const acme = typesPlugin();
  const own = typesPlugin('own');
  const engines = {} as Record<'jobs' | 'tasks' | 'told', WorkflowEngine>;
  let memory: Database | undefined;
  const heard: DeliveredEvent[] = [];
  const jobs = testPlugin('jobs', {
    needs: { engines: WorkflowEnginesRef },
    // biome-ignore lint/suspicious/noExplicitAny: what is needed is typed by `needs`, which this helper widens
    async setup(scope, needed: any) {
      const made = needed.engines as NonNullable<(typeof WorkflowEnginesRef)['type']>;
      const opened = await scope.services.openSqlite();
      memory = opened;
      scope.defer(() => opened.close());
      const { database } = scope.services;
      engines.jobs = await made.open(scope, { name: 'jobs', database: opened, nodeTypes: own.types });
      engines.tasks = await made.open(scope, { name: 'tasks', database });
      engines.told = await made.open(scope, { name: 'told', database, isDelivered: true });
    },
  });
  const sink = testPlugin('sink', {
    setup(scope) {
      scope.contribute(EventSinksPoint, {
        name: 'heard',
        wants: () => true,
        deliver: async (events) => void heard.push(...events),
      });
    },
  });
  const gateway = await startWorkflows(t, {
    env: { ...fresh.environment, ...env },
    plugins: [acme.plugin, sink, jobs],
  });
  /** Starts a run, and gives it back when it has settled. */
  const run = async (name: keyof typeof engines, graph: ReturnType<typeof chain>, timeoutMs = 20_000) => {
    const engine = engines[name];
    const version = await engine.ensureVersion({
      tenantId: TENANT,
      definitionId: 'd',
      graph,
      publishedBy: 'me',
    });
    const { run } = await engine.start({ tenantId: TENANT, version, input: { text: name }, startedBy: 'me' });
    return engine.settled({ tenantId: TENANT, runId: run.id, timeoutMs, signal: SIGNAL });
  };
  return { ...gateway, gateway: gateway.gateway, engines, run, heard, acme, memory: () => memory! };
}

eachGatewayDatabase(
  test,
  'engines over one database and over others know nothing of each other',
  async (t, fresh) => {
    const { engines, run, heard, memory, gateway, get, publish, start } = await startEngines(t, fresh);
    const mine = await start(await publish(chain(shout)), { text: 'x' });
    const runs = {
      jobs: await run('jobs', chain({ ...shout, type: 'own/shout' })),
      tasks: await run('tasks', chain(shout)),
      told: await run('told', chain(shout)),
    };
    for (const [name, { id, status }] of Object.entries(runs)) {
      t.is(status, 'completed', name);
      for (const [other, engine] of Object.entries(engines)) {
        const place = { tenantId: TENANT, runId: id };
        if (other === name) t.deepEqual(await engine.result(place), { text: name.toUpperCase() });
        else
          await t.throwsAsync(engine.get(place), { code: 'workflow.run-not-found' }, `${name} in ${other}`);
        t.is((await engine.list(TENANT, { limit: 10, offset: 0 })).total, 1);
      }
      t.is((await get(`/v1/workflow-runs/${id}`)).code, 'workflow.run-not-found');
    }
    t.is((await get('/v1/workflow-runs')).total, 1);
    t.is(await gateway.services.database.schemaDrift(), '');
    t.is(await memory().schemaDrift(), '');

    const ofTold = await engines.told.events({ tenantId: TENANT, runId: runs.told.id, limit: 100 });
    const ofMine = (await get(`/v1/workflow-runs/${mine.id}/events`)).total;
    await until(() => heard.length === ofTold.total + ofMine, 10_000);
    t.deepEqual(new Set(heard.map(({ run_id }) => run_id)), new Set([mine.id, runs.told.id]));
  },
);

eachGatewayDatabase(
  test,
  'an engine hands its runs over when its plugin stops, and goes on when it is back',
  async (t, fresh) => {
    const { engines, run, acme, turn } = await startEngines(t, fresh);
    const { id } = await run('tasks', chain(hold), 0);
    await until(() => acme.held.has(id), 10_000);
    const workers = async () => Number((await fresh.ask('select count(*) as n from tasks_workers'))[0]!.n);
    t.is(await workers(), 1);
    await turn('jobs', 'disable');
    t.is(await workers(), 0);
    const rows = await fresh.ask(`select owner from tasks_runs`);
    t.deepEqual(rows, [{ owner: null }]);
    t.false(acme.held.has(id));
    await turn('jobs', 'enable');
    await until(() => acme.held.has(id), 20_000);
    acme.held.get(id)!();
    const place = { tenantId: TENANT, runId: id };
    const { status } = await engines.tasks.settled({ ...place, timeoutMs: 20_000, signal: SIGNAL });
    t.is(status, 'completed');
    // Given back by a stop, not lost: the same attempt.
    t.deepEqual(acme.calls, ['1.1', '1.2']);
  },
);

test('a step that ends within the drain time ends where it began', async (t) => {
  const fresh = await gatewayDatabase(t, 'sqlite');
  const { run, acme, turn, get } = await startEngines(t, fresh!, { SVC_DRAIN_TIMEOUT: '20s' });
  const { id } = await run('tasks', chain(hold), 0);
  await until(() => acme.held.has(id), 10_000);
  const disabled = turn('jobs', 'disable');
  await until(async () => (await get('/admin/v1/plugins/jobs')).state === 'draining', 10_000);
  acme.held.get(id)!();
  await disabled;
  t.deepEqual(await fresh!.ask('select status, owner from tasks_runs'), [
    { status: 'completed', owner: null },
  ]);
  t.deepEqual(acme.calls, ['1.1']);
});

test('a set-up anew of the workflow plugin takes the engines of others along', async (t) => {
  const fresh = await gatewayDatabase(t, 'sqlite');
  const { run, acme, turn, engines, get } = await startEngines(t, fresh!);
  const { id } = await run('tasks', chain(hold), 0);
  await until(() => acme.held.has(id), 10_000);
  const before = engines.tasks;
  await turn('workflow', 'reload');
  t.not(engines.tasks, before);
  for (const name of ['workflow', 'jobs']) {
    t.is((await get(`/admin/v1/plugins/${name}`)).state, 'active', name);
  }
  await until(() => acme.calls.length === 2 && acme.held.has(id), 20_000);
  acme.held.get(id)!();
  const place = { tenantId: TENANT, runId: id };
  t.is((await engines.tasks.settled({ ...place, timeoutMs: 20_000, signal: SIGNAL })).status, 'completed');
  t.is((await run('jobs', chain({ ...shout, type: 'own/shout' }))).status, 'completed');
});
