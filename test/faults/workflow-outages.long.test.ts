import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { startOwnRedis } from '../kernel/limits/own-redis.ts';
import { type FreshDatabase, gatewayDatabase, SERVER_FAMILIES } from '../support/databases.ts';
import { sample } from '../support/sample.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { startReplica, startRun, statusOf, UNHEARD } from '../support/workflow-gateways.ts';
import { faultsOfRun, faultsOfStory, faultsOfTables, readRun } from '../support/workflow-invariants.ts';
import { type Answering, startWorkflowService, type WorkflowService } from '../support/workflow-service.ts';
import {
  calls,
  chain,
  live,
  newStory,
  publish,
  type Story,
  storyGraph,
  Unanswered,
} from '../support/workflow-story.ts';
import { watchBoundaries } from './workflow/write-boundaries.ts';

const PORTS = { postgres: 5432, mysql: 3306 } as const;
const DEADLINE_MS = 90_000;

/** What happens to the way to the database when a run comes to its boundary. */
const cuts = new Map<string, (boundary: string) => Promise<void>>();
const boundaries = watchBoundaries(async (marker, boundary) => cuts.get(marker)?.(boundary));

interface SetUp {
  readonly fresh: FreshDatabase;
  readonly service: WorkflowService;
  readonly proxy: TcpProxy;
  readonly gateway: TestGateway;
  readonly definition: string;
}

/** A gateway that reaches its database through a proxy. */
async function setUp(
  t: ExecutionContext,
  family: 'postgres' | 'mysql',
  env: Record<string, string>,
  answering?: Answering,
): Promise<SetUp | undefined> {
  t.timeout(5 * DEADLINE_MS);
  const fresh = await gatewayDatabase(t, family);
  if (fresh === undefined) return undefined;
  const service = await startWorkflowService(t, answering);
  const proxy = await startTcpProxy(t, PORTS[family]);
  const DATABASE_URL = fresh.environment.DATABASE_URL!.replace(`:${PORTS[family]}/`, `:${proxy.port}/`);
  const more = { SVC_EGRESS_ALLOW_PRIVATE: service.allowed, OBJECT_STORE_URL: 'none', ...env };
  const gateway = await startReplica(t, { DATABASE_URL, ...more });
  const definition = await publish(gateway.request, storyGraph(service.url));
  return { fresh, service, proxy, gateway, definition };
}

/** Lives a story to its end, however often it is not answered. */
async function outlive({ request }: TestGateway, story: Story): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await live(request, story, DEADLINE_MS);
    } catch (error) {
      if (!(error instanceof Unanswered) || performance.now() > deadline) throw error;
      await pause(100);
    }
  }
}

async function check(
  t: ExecutionContext,
  { gateway, service, fresh }: Pick<SetUp, 'gateway' | 'service' | 'fresh'>,
  stories: readonly Story[],
  losses: number,
) {
  for (const story of stories) {
    const told = await readRun(gateway.request, story.runId!);
    const faults = [...faultsOfRun(told), ...faultsOfStory(told, service.of(story.name), losses)];
    t.deepEqual([...story.broken, ...faults], [], story.name);
  }
  t.deepEqual(await faultsOfTables(fresh.ask, 1), []);
  const [counted] = await fresh.ask('select count(*) as uses from usage_records');
  t.is(Number(counted!.uses), stories.length, 'the usage of each agent task is recorded once');
}

for (const family of SERVER_FAMILIES) {
  test(`${family}: a connection that breaks at any boundary of the writes of a run loses and repeats nothing`, async (t) => {
    // Where the lease of the worker lives on, what was in flight stays in flight.
    const env = { WORKFLOW_LEASE: '60s', WORKFLOW_SWEEP_INTERVAL: '1s' };
    const parts = await setUp(t, family, env, ({ node }) => (node === 'c' ? pause(100, 200) : undefined));
    if (parts === undefined) return;
    const { proxy, gateway, definition } = parts;
    const first = newStory(`${family}-undisturbed`, definition);
    boundaries.stop({ marker: first.name, at: 0 });
    await live(gateway.request, first);
    const { length } = boundaries.met(first.name);
    t.true(length > 15, `only ${length} boundaries were seen`);
    const broken: string[] = [];
    let breaking = Promise.resolve();
    const breakConnections = async (boundary: string) => {
      broken.push(boundary);
      breaking = breaking.then(async () => {
        await proxy.cut();
        await proxy.restore();
      });
      await breaking;
      // What was done is done; nobody hears of it.
      if (boundary.includes('after'))
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    };
    const all = Array.from({ length }, (_, index) => index);
    const stories = sample(t, all, 10).map((index) => {
      const story = newStory(`${family}-cut-at-${index + 1}-`, definition);
      cuts.set(story.name, breakConnections);
      boundaries.stop({ marker: story.name, at: index + 1 });
      return story;
    });
    for (let index = 0; index < stories.length; index += 6) {
      await Promise.all(stories.slice(index, index + 6).map((story) => outlive(gateway, story)));
    }
    t.log(`${broken.length} of ${stories.length} boundaries`);
    // On a busy machine writes of several runs go together, at fewer boundaries.
    t.true(broken.length >= stories.length / 2, `${broken.length} of ${stories.length} boundaries`);
    await check(t, parts, [first, ...stories], 0);
  });

  test(`${family}: runs outlive a database that is away for longer than the lease`, async (t) => {
    // Longer than a busy machine may keep a heartbeat waiting.
    const env = { WORKFLOW_LEASE: '3s', WORKFLOW_SWEEP_INTERVAL: '500ms' };
    const parts = await setUp(t, family, env, () => pause(200, 200));
    if (parts === undefined) return;
    const { proxy, gateway, service, definition } = parts;
    const stories = Array.from({ length: 12 }, (_, index) => newStory(`away-${index}-`, definition));
    const lives = stories.map((story) => outlive(gateway, story));
    await until(() => stories.every(({ name }) => service.of(name).length >= 1), DEADLINE_MS);

    await proxy.cut();
    await pause(5_000);
    await proxy.restore();

    await Promise.all(lives);
    t.is((await gateway.request('/health/ready', { token: null })).status, 200);
    await check(t, parts, stories, 1);
  });
}

test('runs of two replicas go on while Redis is away, and when it is back', async (t) => {
  t.timeout(3 * DEADLINE_MS);
  const redis = await startOwnRedis(t);
  const fresh = redis && (await gatewayDatabase(t, 'postgres'));
  if (redis === undefined || fresh === undefined) return;
  const service = await startWorkflowService(t, () => pause(100, 200));
  const env = {
    ...fresh.environment,
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    OBJECT_STORE_URL: 'none',
    SVC_EGRESS_ALLOW_PRIVATE: service.allowed,
    WORKFLOW_SWEEP_INTERVAL: '1s',
    SVC_DATABASE_POOL: '4',
  };
  const [one, other] = await Promise.all([startReplica(t, env), startReplica(t, env)]);
  const definition = await publish(one.request, storyGraph(service.url));
  const tell = (name: string) => {
    const stories = Array.from({ length: 6 }, (_, index) => newStory(`${name}-${index}-`, definition));
    return { stories, ended: Promise.all(stories.map((story, at) => outlive(at % 2 ? one : other, story))) };
  };
  const before = tell('before');
  await until(() => before.stories.every(({ name }) => service.of(name).length > 0), DEADLINE_MS);
  await redis.kill();
  const amid = tell('amid');
  await Promise.all([before.ended, amid.ended]);
  await redis.start();
  const after = tell('after');
  await after.ended;
  for (const story of [...before.stories, ...amid.stories, ...after.stories]) {
    const told = await readRun(one.request, story.runId!);
    const faults = [...faultsOfRun(told), ...faultsOfStory(told, service.of(story.name), 0)];
    t.deepEqual([...story.broken, ...faults], [], story.name);
  }
  t.deepEqual(await faultsOfTables(fresh.ask, 2), []);
});

for (const [drain, times] of [
  ['10s', 1],
  // Calls that take longer than the drain time are given back, and made again with the same key.
  ['50ms', 4],
] as const) {
  test(`runs outlive disabling, enabling and reloading the plugin, whose calls get ${drain} to end`, async (t) => {
    t.timeout(3 * DEADLINE_MS);
    const fresh = (await gatewayDatabase(t, 'sqlite'))!;
    const service = await startWorkflowService(t, () => pause(400, 200));
    // What is handed over is not waited for until a lease is over.
    const gateway = await startTestGateway({
      env: {
        ...fresh.environment,
        OBJECT_STORE_URL: 'none',
        SVC_EGRESS_ALLOW_PRIVATE: service.allowed,
        ...UNHEARD,
        WORKFLOW_LEASE: '10m',
        WORKFLOW_SWEEP_INTERVAL: '500ms',
        SVC_DRAIN_TIMEOUT: drain,
      },
    });
    t.teardown(gateway.stop);
    const tenant = await gateway.makeTenant();
    const client = (path: string, request = {}) => gateway.request(path, { token: tenant.token, ...request });
    const nodes = ['a', 'b', 'c', 'd', 'e', 'f'];
    const definition = await publish(client, chain(...nodes.map((id) => calls(service.url, id))));
    const stories = Array.from({ length: 8 }, (_, index) => `story-${index}-`);
    const runs = await Promise.all(stories.map((story) => startRun(client, definition, story)));
    const change = async (verb: string) => {
      const { status, body } = await gateway.request(`/admin/v1/plugins/workflow/${verb}`, {
        method: 'POST',
      });
      t.is(status, 200, JSON.stringify(body));
      t.deepEqual(body.leaks, []);
    };
    const further = async (count: number) => {
      await until(() => stories.every((story) => service.of(story).length >= count), DEADLINE_MS);
    };
    await further(1);
    await change('disable');
    t.is((await client(`/v1/workflow-runs/${runs[0]}`)).status, 404);
    const paused = service.calls.length;
    await change('enable');
    await until(() => service.calls.length > paused, DEADLINE_MS);
    await further(2);
    await change('reload');
    await further(3);
    await change('reload');

    for (const [index, id] of runs.entries()) {
      await until(async () => (await statusOf(client, id)) === 'completed', DEADLINE_MS);
      const told = await readRun(client, id);
      t.deepEqual(faultsOfRun(told), []);
      t.deepEqual(
        told.events.filter(({ type }) => type === 'step.failed' || type === 'run.paused'),
        [],
      );
      for (const node of nodes) {
        const { id: step } = told.run.steps.find(({ node_id }) => node_id === node)!;
        const keys = service.of(stories[index]!).filter((call) => call.node === node);
        t.true(keys.length >= 1 && keys.length <= times, `${node}: ${keys.length} calls`);
        t.true(keys.every(({ key }) => key === `${step}-1`));
      }
    }
    t.deepEqual(await faultsOfTables(fresh.ask, 1), []);
    const { body } = await gateway.request('/admin/v1/plugins/workflow');
    t.deepEqual(body.leaks, []);
    // Throws where a plugin has left something behind.
    await gateway.stop();
  });
}
