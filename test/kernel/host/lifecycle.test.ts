import test from 'ava';
import Type from 'typebox';
import { field } from '../../../foundation/config/field.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { extensionPoint, serviceRef } from '../../../kernel/api/refs.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { KernelErrors } from '../../../kernel/index.ts';
import { KERNEL_VERSION } from '../../../kernel/version.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { gate, publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

type Report = {
  name: string;
  state: string;
  reason: string;
  effects: { routes: string[] } | null;
  leaks: string[];
};

const Greeting = serviceRef<{ greet(): string }>('greeter.greeting');

function greeter(word = 'hello') {
  return testPlugin('greeter', {
    offers: [Greeting],
    setup: (scope) => scope.provide(Greeting, { greet: () => word }),
  });
}

const caller = testPlugin('caller', {
  needs: { greeting: Greeting },
  setup: (scope, { greeting }) => {
    const { greet } = greeting as { greet(): string };
    scope.route(publicRoute('/greet', () => ({ word: greet() })));
  },
});

test('a gateway without plugins answers health and metrics', async (t) => {
  await using gateway = await startTestGateway({ plugins: [] });
  t.deepEqual((await gateway.request('/health/live', { token: null })).body, { status: 'ok' });
  t.deepEqual((await gateway.request('/health/ready', { token: null })).body, {
    status: 'ready',
    database: 'ok',
  });
  const metrics = await gateway.request('/metrics', { token: null });
  t.is(metrics.status, 200);
  t.regex(
    metrics.body,
    /svc_http_requests_total\{method="GET",path="\/health\/live",status="200",tenant_id="anonymous"\} 1/,
  );
  t.is((await gateway.request('/v1/me')).status, 404);
});

test('a plugin serves its routes, and gets the services that it needs', async (t) => {
  await using gateway = await startTestGateway({ plugins: [caller, greeter()] });
  t.deepEqual((await gateway.request('/greet')).body, { word: 'hello' });
  const { body } = await gateway.request('/admin/v1/plugins');
  t.deepEqual(
    body.plugins.map(({ name, state }: Report) => [name, state]),
    [
      ['caller', 'active'],
      ['greeter', 'active'],
    ],
  );
  t.is(body.total, 2);
});

test('a set-up that throws is reported with its reason, and everything else serves', async (t) => {
  const broken = testPlugin('broken', {
    setup: (scope) => {
      scope.route(publicRoute('/broken', () => 'never'));
      throw new Error('the flux is out of order');
    },
  });
  await using gateway = await startTestGateway({ plugins: [broken, caller, greeter()] });
  t.is((await gateway.request('/greet')).status, 200);
  t.is((await gateway.request('/broken')).status, 404);
  const { body } = await gateway.request('/admin/v1/plugins/broken');
  t.is(body.state, 'failed');
  t.is(body.reason, 'the flux is out of order');
  const ready = await gateway.request('/health/ready');
  t.is(ready.status, 200);
  t.deepEqual(ready.body.degraded, [{ name: 'broken', state: 'failed' }]);
  t.deepEqual((await gateway.request('/admin/v1/readiness')).body.degraded, [
    { name: 'broken', state: 'failed', reason: 'the flux is out of order' },
  ]);
  const told = String((await gateway.request('/metrics')).body).match(/^svc_plugin_degraded.*$/gm);
  t.deepEqual(told, ['svc_plugin_degraded{plugin="broken"} 1']);
});

test('a plugin whose need nobody offers waits, and says for what', async (t) => {
  await using gateway = await startTestGateway({ plugins: [caller] });
  const { body } = await gateway.request('/admin/v1/plugins/caller');
  t.is(body.state, 'waiting');
  t.is(body.reason, 'needs greeter.greeting, which no plugin offers');
});

test('what a failed set-up had begun is undone', async (t) => {
  const undone: string[] = [];
  const broken = testPlugin('broken', {
    setup: (scope) => {
      scope.defer(() => void undone.push('first'));
      scope.defer(() => void undone.push('second'));
      throw new Error('no');
    },
  });
  await using _gateway = await startTestGateway({ plugins: [broken] });
  t.deepEqual(undone, ['second', 'first']);
});

test('with onFailure abort the gateway does not start', async (t) => {
  const broken = testPlugin('broken', {
    onFailure: 'abort',
    setup: () => {
      throw new Error('no flux');
    },
  });
  await t.throwsAsync(startTestGateway({ plugins: [broken] }), { message: 'broken: no flux' });
  await using gateway = await startTestGateway({
    plugins: [broken],
    yaml: 'plugins:\n  broken:\n    onFailure: continue\n',
  });
  t.is((await gateway.request('/admin/v1/plugins/broken')).body.state, 'failed');
});

test('a service that is offered but not provided fails the start', async (t) => {
  const liar = testPlugin('liar', { offers: [Greeting] });
  await using gateway = await startTestGateway({ plugins: [liar] });
  t.regex(
    (await gateway.request('/admin/v1/plugins/liar')).body.reason,
    /offers greeter\.greeting but did not provide it/,
  );
});

test('two routes of one method and path: the later plugin fails, and the report names both', async (t) => {
  const one = testPlugin('one', { setup: (scope) => scope.route(publicRoute('/same/{a}', () => 'one')) });
  const two = testPlugin('two', { setup: (scope) => scope.route(publicRoute('/same/{b}', () => 'two')) });
  await using gateway = await startTestGateway({ plugins: [one, two] });
  t.is((await gateway.request('/same/1')).body, 'one');
  const { body } = await gateway.request('/admin/v1/plugins/two');
  t.is(body.state, 'failed');
  t.is(body.reason, 'GET /same/{b} is served by both one and two');
});

test('a plugin for another kernel is refused with both versions', async (t) => {
  await using gateway = await startTestGateway({ plugins: [testPlugin('future', { kernel: '^9.0.0' })] });
  t.regex(
    (await gateway.request('/admin/v1/plugins/future')).body.reason,
    /works with kernel \^9\.0\.0; this one is 1\./,
  );
});

test('a definition without a kernel says what to write', async (t) => {
  const { kernel: _, ...nowhere } = testPlugin('nowhere');
  await using gateway = await startTestGateway({ plugins: [nowhere as Plugin] });
  t.is(
    (await gateway.request('/admin/v1/plugins/nowhere')).body.reason,
    `nowhere does not say which kernel it works with; write kernel: '^${KERNEL_VERSION}' in its definition`,
  );
});

test('a definition whose kernel is no range of versions says what to write', async (t) => {
  await using gateway = await startTestGateway({ plugins: [testPlugin('nowhere', { kernel: 'latest' })] });
  t.is(
    (await gateway.request('/admin/v1/plugins/nowhere')).body.reason,
    `nowhere does not say which kernel it works with: "latest" is no range of versions; write kernel: '^${KERNEL_VERSION}' in its definition`,
  );
});

test('SVC_PLUGINS limits the process to some plugins', async (t) => {
  await using gateway = await startTestGateway({
    plugins: [caller, greeter()],
    env: { SVC_PLUGINS: 'greeter' },
  });
  const { body } = await gateway.request('/admin/v1/plugins/caller');
  t.is(body.state, 'stopped');
  t.is(body.reason, 'SVC_PLUGINS does not name it');
});

test('scope verbs throw once the set-up is over', async (t) => {
  let late: (() => void) | undefined;
  const eager = testPlugin('eager', {
    setup: (scope) => {
      late = () => scope.route(publicRoute('/late', () => 'late'));
    },
  });
  await using _gateway = await startTestGateway({ plugins: [eager] });
  t.throws(() => late?.(), { message: /after its set-up was over/ });
});

test('contributions are seen by the owner of the point, and go with their plugin', async (t) => {
  const Colors = extensionPoint<string>('palette.colors');
  const palette = testPlugin('palette', {
    points: [Colors],
    setup: (scope) => {
      const colors = scope.contributions(Colors);
      scope.route(publicRoute('/colors', () => ({ colors: colors() })));
    },
  });
  const red = testPlugin('red', { setup: (scope) => scope.contribute(Colors, 'red') });
  await using gateway = await startTestGateway({ plugins: [palette, red] });
  t.deepEqual((await gateway.request('/colors')).body, { colors: ['red'] });
  await gateway.request('/admin/v1/plugins/red/disable', { method: 'POST' });
  t.deepEqual((await gateway.request('/colors')).body, { colors: [] });
});

test('a plugin that changes what it was given of a point changes nothing for others', async (t) => {
  const Colors = extensionPoint<string>('palette.colors');
  const palette = testPlugin('palette', {
    points: [Colors],
    setup: (scope) => {
      const colors = scope.contributions(Colors);
      scope.route(publicRoute('/colors', () => ({ colors: (colors() as string[]).splice(0) })));
      scope.contribute(Colors, 'red');
    },
  });
  await using gateway = await startTestGateway({ plugins: [palette] });
  t.deepEqual((await gateway.request('/colors')).body, { colors: ['red'] });
  t.deepEqual((await gateway.request('/colors')).body, { colors: ['red'] });
});

test('configuration comes from gateway.yaml and the environment, and a bad one fails the plugin alone', async (t) => {
  const shout = testPlugin('shout', {
    config: Type.Object({
      word: field.string({ default: 'hey', env: 'SHOUT_WORD', description: 'what is shouted' }),
      times: field.integer({ default: 1, min: 1, description: 'how often' }),
    }),
    setup: (scope) => {
      const config = scope.config as { word: string; times: number };
      scope.route(publicRoute('/shout', () => ({ words: config.word.repeat(config.times) })));
    },
  });
  await using gateway = await startTestGateway({
    plugins: [shout],
    yaml: 'plugins:\n  shout:\n    config: {word: file, times: 2}\n',
    env: { SHOUT_WORD: 'env' },
  });
  t.deepEqual((await gateway.request('/shout')).body, { words: 'envenv' });
  await using other = await startTestGateway({
    plugins: [shout, greeter()],
    yaml: 'plugins:\n  shout:\n    config:\n      times: 0\n',
  });
  const { body } = await other.request('/admin/v1/plugins/shout');
  t.is(body.state, 'failed');
  t.regex(body.reason, /plugins\.shout\.config\.times/);
});

test('a probe joins readiness', async (t) => {
  let isHealthy = true;
  const probed = testPlugin('probed', {
    setup: (scope) =>
      scope.probe('engine', async () => {
        if (!isHealthy) throw new Error('connect ECONNREFUSED 10.1.2.3:99, password=hunter2secret');
      }),
  });
  await using gateway = await startTestGateway({ plugins: [probed] });
  t.is((await gateway.request('/health/ready')).status, 200);
  isHealthy = false;
  const { status, body } = await gateway.request('/health/ready');
  t.is(status, 503);
  t.deepEqual(body, { status: 'not_ready', database: 'ok', checks: { 'probed.engine': 'error' } });
  const report = await gateway.request('/admin/v1/readiness');
  t.is(report.status, 200);
  t.deepEqual(report.body, {
    status: 'not_ready',
    serving: true,
    database: { name: 'database', state: 'ok', reason: null },
    checks: [
      {
        name: 'probed.engine',
        state: 'error',
        reason: 'connect ECONNREFUSED 10.1.2.3:99, password=[REDACTED]',
      },
    ],
    degraded: [],
  });
  isHealthy = true;
  t.is((await gateway.request('/health/ready')).status, 200);
  const lines = gateway.logs().map((line) => JSON.parse(line));
  const told = lines.filter(({ check }) => check === 'probed.engine');
  t.deepEqual(
    told.map(({ level, err }) => [level, err?.message]),
    [
      ['warn', 'connect ECONNREFUSED 10.1.2.3:99, password=[REDACTED]'],
      ['info', undefined],
    ],
    'the log says why, once, and when it was over',
  );
  const asked = lines.filter((line) => line.path === '/health/ready');
  t.deepEqual([...new Set(asked.map(({ level }) => level))], ['debug'], 'those who ask fill no log');
});

test('a route without a rate limit that fails has the line of its request, as others have', async (t) => {
  const engine = testPlugin('engine', {
    setup: (scope) =>
      scope.route(
        publicRoute('/engine', () => {
          throw KernelErrors.unavailable('The engine is away');
        }),
      ),
  });
  await using gateway = await startTestGateway({ plugins: [engine] });
  t.is((await gateway.request('/engine')).status, 503);
  const lines = gateway.logs().map((line) => JSON.parse(line));
  t.like(
    lines.find((line) => line.path === '/engine'),
    { level: 'warn', status: 503, code: 'gateway.unavailable' },
  );
});

test('why the gateway is not ready is for operators with ops:read alone', async (t) => {
  await using gateway = await startTestGateway({ plugins: [] });
  const { apiKeys } = gateway.gateway.services;
  const other = await gateway.makeTenant();
  const statusOf = async (tenantId: string, roles: string[], scopes: string[] = []) => {
    const grant = { name: 'k', roles, scopes, expiresAt: null, createdBy: null };
    const { key } = await apiKeys.create({ tenantId, ...grant });
    return (await gateway.request('/admin/v1/readiness', { token: key })).status;
  };
  t.is((await gateway.request('/admin/v1/readiness', { token: null })).status, 401);
  t.is(await statusOf(DEFAULT_TENANT_ID, ['ops']), 200);
  t.is(await statusOf(DEFAULT_TENANT_ID, ['admin'], ['ops:read']), 200);
  t.is(await statusOf(DEFAULT_TENANT_ID, ['admin'], ['ops:write']), 403);
  t.is(await statusOf(DEFAULT_TENANT_ID, ['user', 'security']), 403);
  t.is(await statusOf(other.id, ['ops', 'owner']), 403);
});

test('a periodic task runs while the plugin is active, and never after', async (t) => {
  let runs = 0;
  const ticker = testPlugin('ticker', {
    setup: (scope) =>
      scope.every('tick', 10, async () => {
        runs += 1;
      }),
  });
  await using gateway = await startTestGateway({ plugins: [ticker] });
  await until(() => runs > 2);
  await gateway.request('/admin/v1/plugins/ticker/disable', { method: 'POST' });
  const after = runs;
  await gateway.request('/health/ready');
  t.is(runs, after);
});

test('a periodic task may run at once, and then again after its period', async (t) => {
  let runs = 0;
  const count = async () => {
    runs += 1;
  };
  const ticker = testPlugin('ticker', {
    setup(scope) {
      scope.every('first', 3_600_000, count, { immediately: true });
      scope.every('later', 3_600_000, () => Promise.reject(new Error('too early')));
    },
  });
  await using gateway = await startTestGateway({ plugins: [ticker] });
  await until(() => runs > 0);
  t.is(runs, 1);
  t.notRegex(gateway.logs().join(''), /too early/);
});

test('disable waits for calls in flight, then undoes in reverse order', async (t) => {
  const { open, opened } = gate();
  const events: string[] = [];
  const slow = testPlugin('slow', {
    setup: (scope) => {
      scope.defer(() => void events.push('undo 1'));
      scope.defer(() => void events.push('undo 2'));
      scope.route(
        publicRoute('/slow', async () => {
          await opened;
          events.push('answered');
          return { done: true };
        }),
      );
    },
  });
  await using gateway = await startTestGateway({ plugins: [slow] });
  const answer = gateway.request('/slow');
  const inFlight = async () => (await gateway.request('/admin/v1/plugins/slow')).body;
  await until(async () => (await inFlight()).in_flight === 1);
  const disabled = gateway.request('/admin/v1/plugins/slow/disable', { method: 'POST' });
  await until(async () => (await inFlight()).state === 'draining');
  t.is((await gateway.request('/slow')).status, 404);
  open();
  t.deepEqual((await answer).body, { done: true });
  const { body } = await disabled;
  t.is(body.state, 'stopped');
  t.deepEqual(body.leaks, []);
  t.deepEqual(events, ['answered', 'undo 2', 'undo 1']);
});

test('calls that outlive the drain time are aborted', async (t) => {
  const endless = testPlugin('endless', {
    setup: (scope) =>
      scope.route(
        publicRoute('/endless', async ({ signal }) => {
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        }),
      ),
  });
  await using gateway = await startTestGateway({
    plugins: [endless],
    yaml: 'plugins:\n  endless:\n    drainTimeout: 50ms\n',
  });
  const answer = gateway.request('/endless');
  await until(async () => (await gateway.request('/admin/v1/plugins/endless')).body.in_flight === 1);
  const { body } = await gateway.request('/admin/v1/plugins/endless/disable', { method: 'POST' });
  t.is(body.state, 'stopped');
  t.is((await answer).status, 503);
});

test('a caller is answered, or cut off, whose call does not end when it was aborted', async (t) => {
  const { open, opened } = gate();
  const deaf = testPlugin('deaf', {
    setup: (scope) =>
      scope.route(
        publicRoute('/deaf', () => opened),
        publicRoute('/deaf-stream', () =>
          reply.sse(async (stream) => {
            await stream.data('begun');
            await opened;
          }),
        ),
      ),
  });
  await using gateway = await startTestGateway({
    plugins: [deaf],
    yaml: 'plugins:\n  deaf:\n    drainTimeout: 50ms\n',
    allowLeaks: true,
  });
  const answer = gateway.request('/deaf');
  const cut = t.throwsAsync(gateway.request('/deaf-stream'));
  await until(async () => (await gateway.request('/admin/v1/plugins/deaf')).body.in_flight === 2);
  const { body } = await gateway.request('/admin/v1/plugins/deaf/disable', { method: 'POST' });
  t.deepEqual(body.leaks, ['2 calls did not end after they were aborted: /deaf, /deaf-stream']);
  const { status, body: problem } = await answer;
  t.is(status, 503);
  t.is(problem.code, 'gateway.draining');
  await cut;
  open();
});
