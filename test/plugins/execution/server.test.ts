import { once } from 'node:events';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { startTestGateway } from '../../../testing/index.ts';
import { startGatewayProcess, temporaryFolder } from '../../support/gateway-process.ts';
import { send } from '../../support/request.ts';
import { groundOf, PLUGINS, startJobs } from './jobs-kit.ts';

const ALONE = { SVC_PLUGINS: 'agent-engine,workflow,execution', OBJECT_STORE_URL: 'none' };
/** As if the operator had set neither. */
const UNSET = { SVC_HOST: '', SAAS_API_PORT: '' };

async function takePort(t: ExecutionContext): Promise<{ readonly port: number; release(): Promise<void> }> {
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

test('jobs in memory beside a database server are told of when the first of them comes', async (t) => {
  const ground = await groundOf(t, { family: 'postgres', file: false, env: {} });
  if (ground === undefined) return t.pass();
  const told = async (env: Readonly<Record<string, string>>) => {
    const gateway = await startJobs(t, { ...ground, env: { ...ground.env, ...env } });
    t.notRegex(gateway.logs().join(), /jobs are in memory/);
    await gateway.request('/jobs', { method: 'POST', body: { graph_name: 'test/ask' } });
    return gateway.logs().filter((line) => line.includes('jobs are in memory')).length;
  };
  t.is(await told({}), 1);
  t.is(await told({ SVC_RUNTIME_BACKEND: 'postgres' }), 0);
});

test('with an address of its own it has jobs, health and metrics there, and nothing else of the gateway', async (t) => {
  for (const onePort of ['true', 'false']) {
    const env = { SVC_SERVER_ADDR: '127.0.0.2:0', SVC_ONE_PORT: onePort };
    const gateway = await startJobs(t, { env });
    const lines = gateway.logs().map((line) => JSON.parse(line));
    const { address } = lines.find(({ msg, owner }) => msg === 'listening' && owner === 'execution');
    const status = async (path: string) => (await send(`${address}${path}`, { token: gateway.token })).status;
    for (const path of ['/jobs', '/health/live', '/health/ready', '/metrics'])
      t.is(await status(path), 200, path);
    for (const path of ['/v1/me', '/v1/workflow-runs', '/admin/v1/plugins', '/v1/openapi'])
      t.is(await status(path), 404, path);
    t.is((await gateway.request('/jobs')).status, onePort === 'true' ? 200 : 404);
  }
});

test('without an address of its own it shares the gateway’s server', async (t) => {
  const gateway = await startJobs(t);
  t.is((await gateway.request('/jobs')).status, 200);
  t.is((await gateway.request('/v1/me')).status, 200);
});

test('alone it is a whole server on its address, with what it needs, and nothing else listens', async (t) => {
  const { port, release } = await takePort(t);
  await release();
  const folder = await temporaryFolder(t);
  const env = { ...ALONE, ...UNSET, SVC_SERVER_ADDR: `127.0.0.1:${port}` };
  const process = await startGatewayProcess(t, folder, env);
  t.is(process.url, `http://127.0.0.1:${port}`);
  t.deepEqual((await process.request('/jobs')).body, { jobs: [], total: 0, limit: 50, offset: 0 });
  t.is((await process.request('/jobs', { token: null })).status, 200);
  t.is((await process.request('/health/ready')).status, 200);
  t.is((await process.request('/v1/workflow-runs')).status, 404);
  const listening = process.logs().filter(({ msg }) => msg === 'listening');
  t.deepEqual(
    listening.map(({ owner }) => owner),
    ['execution'],
  );
  const { plugins } = process.logs().find(({ msg }) => msg === 'ready') as { plugins: string[] };
  t.deepEqual(plugins.toSorted(), ['agent-engine', 'execution', 'records', 'workflow']);
});

test('alone and without an address it is the gateway’s own server, on the loopback interface', async (t) => {
  const { port, release } = await takePort(t);
  await release();
  const env = { ...ALONE, SVC_HOST: '', SAAS_API_PORT: String(port) };
  const process = await startGatewayProcess(t, await temporaryFolder(t), env);
  t.is(process.url, `http://127.0.0.1:${port}`);
  t.is((await process.request('/jobs')).status, 200);
  t.is((await process.request('/v1/workflow-runs')).status, 200);
  t.like(
    process.logs().find(({ msg }) => msg === 'listening'),
    { owner: 'execution' },
  );
});

test('a setting that is wrong stops the start, and is named', async (t) => {
  const taken = await takePort(t);
  for (const [env, ...words] of [
    [{ SVC_RUNTIME_BACKEND: 'oracle' }, 'execution', 'SVC_RUNTIME_BACKEND', 'sqlite, postgres'],
    [{ SVC_RUNTIME_BACKEND: 'postgres' }, 'execution', 'SVC_RUNTIME_BACKEND', 'DATABASE_URL'],
    [{ SVC_SERVER_ADDR: 'nowhere' }, 'execution', 'SVC_SERVER_ADDR'],
    [
      { SVC_SERVER_ADDR: `127.0.0.1:${taken.port}` },
      'execution',
      'SVC_SERVER_ADDR',
      `127.0.0.1:${taken.port}`,
      'taken',
    ],
    [{ SVC_SQLITE_DB: '/dev/null/jobs.db' }, 'execution', 'SVC_SQLITE_DB', '/dev/null/jobs.db'],
  ] as const) {
    const { message } = (await t.throwsAsync(startTestGateway({ env, plugins: PLUGINS })))!;
    for (const word of words) t.true(message.includes(word), `${word}: ${message}`);
  }
});
