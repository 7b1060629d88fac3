import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import Type from 'typebox';
import { field } from '../../foundation/config/field.ts';
import { access } from '../../kernel/api/access.ts';
import { reply } from '../../kernel/api/reply.ts';
import { route } from '../../kernel/api/route.ts';
import agentEngine from '../../plugins/agent-engine/plugin.ts';
import platform from '../../plugins/platform/plugin.ts';
import records from '../../plugins/records/plugin.ts';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { gate, publicRoute, testPlugin } from '../support/plugins.ts';
import { connect, exchange } from '../support/raw-http.ts';
import { open, send } from '../support/request.ts';
import { until } from '../support/until.ts';

/** A plugin that serves on an address of its own, set by `HUB_ADDR`. */
function hub(rest: Promise<void> = Promise.resolve()) {
  return testPlugin('hub', {
    listen: 'addr',
    config: Type.Object({
      addr: field.address({ env: 'HUB_ADDR', default: '127.0.0.1:1', description: 'Where the hub listens' }),
    }),
    setup: (scope) =>
      scope.route(
        publicRoute('/hub', () => ({ hub: true })),
        publicRoute('/hub/slow', () =>
          reply.sse(async (stream) => {
            await stream.data('first');
            await rest;
            await stream.data('last');
          }),
        ),
        route({
          method: 'GET',
          path: '/hub/me',
          access: access.authenticated(),
          summary: 'Who is asking',
          handle: ({ identity }) => ({ identity: identity.id }),
        }),
      ),
  });
}

async function takePort(t: ExecutionContext): Promise<{ port: number; release(): Promise<void> }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const release = async () => {
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  t.teardown(release);
  return { port: (server.address() as net.AddressInfo).port, release };
}

async function start(t: ExecutionContext, plugins = [hub()], env: Record<string, string> = {}) {
  const taken = await takePort(t);
  await taken.release();
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, platform, ...plugins],
    env: { HUB_ADDR: `127.0.0.1:${taken.port}`, ...env },
  });
  t.teardown(gateway.stop);
  return { gateway, hubUrl: `http://127.0.0.1:${taken.port}` };
}

const report = async ({ request }: TestGateway, name: string) =>
  (await request(`/admin/v1/plugins/${name}`)).body;

test('with one port for each, a plugin with an address of its own serves there and only there', async (t) => {
  const { gateway, hubUrl } = await start(t, [hub()], { SVC_ONE_PORT: 'false' });
  t.deepEqual((await send(`${hubUrl}/hub`)).body, { hub: true });
  t.is((await gateway.request('/hub')).status, 404);
  for (const path of ['/v1/me', '/v1/models', '/admin/v1/plugins']) {
    t.is((await send(`${hubUrl}${path}`, { token: gateway.token })).status, 404);
    t.is((await gateway.request(path)).status, 200);
  }
  t.is((await send(`${hubUrl}/hub/me`)).status, 401);
  t.deepEqual((await send(`${hubUrl}/hub/me`, { token: gateway.token })).body, { identity: 'static-token' });
});

test('health and metrics answer on every address, with the same figures', async (t) => {
  const { gateway, hubUrl } = await start(t);
  await send(`${hubUrl}/hub`);
  for (const url of [gateway.url, hubUrl]) {
    t.deepEqual((await send(`${url}/health/live`)).body, { status: 'ok' });
    t.is((await send(`${url}/health/ready`)).body.status, 'ready');
    const { body } = await send(`${url}/metrics`);
    t.regex(
      body,
      /svc_http_requests_total\{method="GET",path="\/hub",status="200",tenant_id="anonymous"\} 1/,
    );
  }
});

test('disabling the plugin closes its address once its streams are over, enabling opens it again', async (t) => {
  const rest = gate();
  const { gateway, hubUrl } = await start(t, [hub(rest.opened)]);
  const idle = await connect(hubUrl);
  const slow = await open(`${hubUrl}/hub/slow`);

  const disabled = gateway.request('/admin/v1/plugins/hub/disable', { method: 'POST' });

  await until(async () => (await report(gateway, 'hub')).state === 'draining');
  await t.throwsAsync(connect(hubUrl), { code: 'ECONNREFUSED' });
  await idle.closed;
  rest.open();
  t.regex(await slow.text(), /last/);
  t.is((await disabled).body.state, 'stopped');
  t.is((await gateway.request('/health/ready')).body.status, 'ready');

  t.is((await gateway.request('/admin/v1/plugins/hub/enable', { method: 'POST' })).body.state, 'active');
  t.deepEqual((await send(`${hubUrl}/hub`)).body, { hub: true });
});

test('a reload keeps the address open for every request', async (t) => {
  const { gateway, hubUrl } = await start(t);
  let isOver = false;
  const statuses = new Set<number>();
  const client = (async () => {
    while (!isOver) statuses.add((await send(`${hubUrl}/hub`)).status);
  })();
  for (let again = 0; again < 5; again += 1) {
    t.is((await gateway.request('/admin/v1/plugins/hub/reload', { method: 'POST' })).status, 200);
  }
  isOver = true;
  await client;
  t.deepEqual([...statuses], [200]);
});

test('a port that is taken fails only the plugin that wants it, and names plugin, address and variable', async (t) => {
  const taken = await takePort(t);
  const HUB_ADDR = `127.0.0.1:${taken.port}`;
  const { gateway } = await start(t, [hub()], { HUB_ADDR });
  const { state, reason } = await report(gateway, 'hub');
  t.is(state, 'failed');
  t.true(
    [HUB_ADDR, 'hub', 'HUB_ADDR', 'taken'].every((word) => reason.includes(word)),
    reason,
  );
  t.is((await gateway.request('/v1/me')).status, 200);
  const ready = await gateway.request('/health/ready');
  t.is(ready.status, 200);
  t.deepEqual(ready.body.degraded, [{ name: 'hub', state: 'failed' }]);

  await taken.release();
  t.is((await gateway.request('/admin/v1/plugins/hub/enable', { method: 'POST' })).body.state, 'active');
  t.is((await send(`http://${HUB_ADDR}/hub`)).status, 200);
});

test('a plugin that fails after its port was bound leaves the port free', async (t) => {
  const clash = testPlugin('the-last', {
    listen: 'addr',
    config: Type.Object({
      addr: field.address({
        env: 'TWIN_ADDR',
        default: '127.0.0.1:1',
        description: 'Where the twin listens',
      }),
    }),
    setup: (scope) => scope.route(publicRoute('/health/live', () => 1)),
  });
  const free = await takePort(t);
  await free.release();
  const { gateway } = await start(t, [clash], { TWIN_ADDR: `127.0.0.1:${free.port}` });
  const { state, reason } = await report(gateway, 'the-last');
  t.is(state, 'failed');
  t.regex(reason, /\/health\/live/);
  await t.throwsAsync(connect(`http://127.0.0.1:${free.port}`), { code: 'ECONNREFUSED' });
});

test('plugins that name one address share it, and it stays as long as one of them', async (t) => {
  const twin = testPlugin('twin', {
    listen: 'addr',
    config: Type.Object({
      addr: field.address({ env: 'HUB_ADDR', default: '127.0.0.1:1', description: 'Where the twin listens' }),
    }),
    setup: (scope) => scope.route(publicRoute('/twin', () => ({ twin: true }))),
  });
  const { gateway, hubUrl } = await start(t, [hub(), twin]);
  t.is((await send(`${hubUrl}/hub`)).status, 200);
  t.is((await send(`${hubUrl}/twin`)).status, 200);
  await gateway.request('/admin/v1/plugins/hub/disable', { method: 'POST' });
  t.is((await send(`${hubUrl}/hub`)).status, 404);
  t.is((await send(`${hubUrl}/twin`)).status, 200);
  await gateway.request('/admin/v1/plugins/twin/disable', { method: 'POST' });
  await t.throwsAsync(connect(hubUrl), { code: 'ECONNREFUSED' });
});

test('a stop closes all addresses and lets what is in flight on each finish', async (t) => {
  const rest = gate();
  const { gateway, hubUrl } = await start(t, [hub(rest.opened)]);
  const slow = await open(`${hubUrl}/hub/slow`);
  const stopped = gateway.stop();
  for (const url of [gateway.url, hubUrl]) {
    await until(async () =>
      exchange(url, 'GET /health/live HTTP/1.0\r\n\r\n').then(
        () => false,
        () => true,
      ),
    );
  }
  rest.open();
  t.regex(await slow.text(), /last/);
  await stopped;
});

test('what gateway.yaml says during the stop starts nothing any more', async (t) => {
  const rest = gate();
  let setUps = 0;
  const counted = { ...hub(rest.opened) };
  const plugin = {
    ...counted,
    setup: (...parts: Parameters<typeof counted.setup>) => {
      setUps += 1;
      return counted.setup(...parts);
    },
  };
  const { gateway, hubUrl } = await start(t, [plugin]);
  const slow = await open(`${hubUrl}/hub/slow`);
  const file = path.join(gateway.folder, 'gateway.yaml');
  await writeFile(file, 'plugins:\n  hub:\n    drainTimeout: 1s\n');
  await until(() => setUps === 2);
  await until(() => gateway.logs().some((line) => line.includes('was applied')));

  const stopped = gateway.gateway.stop();
  await writeFile(file, 'plugins:\n  hub:\n    drainTimeout: 2s\n');
  // Longer than the watcher takes to tell of a change, as the first one has shown.
  await pause(500);
  rest.open();
  await slow.text();
  await stopped;

  t.is(setUps, 2);
  await t.throwsAsync(connect(hubUrl), { code: 'ECONNREFUSED' });
});
