import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { gatewayDatabase, SERVER_FAMILIES } from '../support/databases.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import {
  FEW_PLUGINS,
  startGatewayProcess,
  startInFolder,
  temporaryFolder,
} from '../support/gateway-process.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const PORTS = { postgres: 5432, mysql: 3306 } as const;
const CHAT = { model: 'default', messages: [{ role: 'user', content: 'hello' }] };

interface SetUp {
  readonly gateway: TestGateway;
  readonly proxy: TcpProxy;
}

/** A gateway that reaches its database through a proxy. */
async function setUp(t: ExecutionContext, family: 'postgres' | 'mysql'): Promise<SetUp | undefined> {
  const fresh = await gatewayDatabase(t, family);
  if (fresh === undefined) return undefined;
  const proxy = await startTcpProxy(t, PORTS[family]);
  const DATABASE_URL = fresh.environment.DATABASE_URL!.replace(`:${PORTS[family]}/`, `:${proxy.port}/`);
  const gateway = await startTestGateway({ env: { DATABASE_URL } });
  t.teardown(gateway.stop);
  return { gateway, proxy };
}

const isReady = async ({ request }: TestGateway) =>
  (await request('/health/ready', { token: null })).status === 200;

for (const family of SERVER_FAMILIES) {
  test(`${family}: while the database is away the gateway lives, says so, and comes back by itself`, async (t) => {
    const parts = await setUp(t, family);
    if (parts === undefined) return;
    const { gateway, proxy } = parts;
    const { request } = gateway;
    const { key } = (await request('/v1/api-keys', { method: 'POST', body: { name: 'k' } })).body;
    t.true(await isReady(gateway));

    await proxy.cut();

    await until(async () => !(await isReady(gateway)));
    const ready = await request('/health/ready', { token: null });
    t.is(ready.status, 503);
    t.is(ready.body.status, 'not_ready');
    t.is(ready.body.database, 'error: unavailable');
    t.deepEqual((await request('/health/live', { token: null })).body, { status: 'ok' });
    t.is((await request('/metrics', { token: null })).status, 200);
    // What was in memory is at most a second old.
    for (const token of [key, gateway.token]) {
      await until(async () => (await request('/v1/me', { token })).status === 503);
    }
    const problem = await request('/v1/tenants', { headers: { 'x-request-id': 'while-away' } });
    t.is(problem.status, 503);
    t.is(problem.headers.get('content-type'), 'application/problem+json');
    t.is(problem.headers.get('retry-after'), '5');
    t.like(problem.body, { status: 503, instance: 'while-away' });
    for (const token of [key, gateway.token]) {
      const chat = await request('/v1/chat/completions', { method: 'POST', token, body: CHAT });
      t.is(chat.status, 503);
      t.is(chat.body.error.type, 'server_error');
      t.is(chat.headers.get('retry-after'), '5');
    }
    t.is((await request('/v1/me', { token: null })).status, 401, 'who has no credential needs no database');
    t.is((await request('/nowhere', { token: null })).status, 404);

    await proxy.restore();

    await until(() => isReady(gateway), 15_000);
    t.is((await request('/v1/me', { token: key })).status, 200);
    t.is((await request('/v1/tenants')).status, 200);
    t.is((await request('/v1/chat/completions', { method: 'POST', token: key, body: CHAT })).status, 200);
    const away = async () =>
      (await request('/v1/audit-logs?limit=500')).body.audit_logs.find(
        (record: { request_id: string }) => record.request_id === 'while-away',
      );
    await until(async () => (await away()) !== undefined, 20_000);
    t.like(await away(), { action: 'GET /v1/tenants', status_code: 503, user_id: 'static-token' });
    t.notRegex(gateway.logs().join('\n'), /"level":"fatal"/);
  });
}

for (const family of SERVER_FAMILIES) {
  test(`${family}: a database that goes silent is told by readiness, and nobody waits for it without an end`, async (t) => {
    const parts = await setUp(t, family);
    if (parts === undefined) return;
    const { gateway, proxy } = parts;
    const tenants = async () => (await gateway.request('/v1/tenants')).status;
    t.is(await tenants(), 200);

    proxy.silence();

    const waiting = [tenants(), tenants()];
    t.false(await isReady(gateway));
    t.is((await gateway.request('/health/live', { token: null })).status, 200);
    await proxy.restore();
    // A request on a connection that went silent fails with it; one that waited for a new connection gets it.
    for (const status of await Promise.all(waiting)) t.true([503, 200].includes(status), `${status}`);
    await until(() => isReady(gateway), 20_000);
    t.is(await tenants(), 200);
  });
}

test('a stop while the database is silent is clean, and what waits is written after the next start', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const proxy = await startTcpProxy(t, PORTS.postgres);
  const folder = await temporaryFolder(t);
  const DATABASE_URL = fresh.environment.DATABASE_URL!.replace(`:${PORTS.postgres}/`, `:${proxy.port}/`);
  // Without object storage no provisioning is under way, whose lock would take its own time to be given back.
  await using provider = await startFakeProvider(({ signal }) => once(signal, 'abort').then(() => undefined));
  const env = {
    ...FEW_PLUGINS,
    DATABASE_URL,
    SVC_DRAIN_TIMEOUT: '100ms',
    OBJECT_STORE_URL: 'none',
    LLM_API_URL: provider.url,
    LLM_MODEL: 'fake',
  };
  const gateway = await startGatewayProcess(t, folder, env);
  const { key } = (await gateway.request('/v1/api-keys', { method: 'POST', body: { name: 'k' } })).body;
  const waiting = gateway.request('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-request-id': 'before-the-stop' },
    body: { ...CHAT, store: false },
  });
  // Its caller is known by then, for whom it is recorded.
  await until(() => provider.requests.length === 1);
  // The use of the key is still to be noted, and the record to be written, when the stop comes.
  proxy.silence();
  const used = gateway.request('/v1/me', { token: key });
  const bothEnd = Promise.allSettled([waiting, used]);
  await Promise.race([used, gateway.request('/health/ready')]);

  const began = performance.now();
  const { code, stdout } = await gateway.stop();

  t.is(code, 0);
  t.true(performance.now() - began < 40_000);
  t.notRegex(stdout, /"level":"fatal"/);
  await bothEnd;
  await proxy.restore();
  await startInFolder(t, folder, env);
  // Asked of the database: whoever asks the gateway adds records, and soon a page of newer ones.
  await until(async () => {
    const kept = await fresh.ask("select id from audit_logs where request_id = 'before-the-stop'");
    return kept.length === 1;
  }, 10_000);
});
