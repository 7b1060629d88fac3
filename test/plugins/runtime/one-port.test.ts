import test from 'ava';
import evolution from '../../../plugins/evolution/plugin.ts';
import { startRuntime } from './runtime-gateway.ts';

test('the v2 API is served on its own address and on the gateway’s, unless that is turned off', async (t) => {
  for (const onePort of ['true', 'false']) {
    const env = { SVC_ONE_PORT: onePort, SVC_RUNTIME_ADDR: '127.0.0.2:0' };
    const gateway = await startRuntime(t, { env });
    const opened = gateway.logs().map((line) => JSON.parse(line));
    const { address } = opened.find(({ msg, owner }) => msg === 'listening' && owner === 'runtime');
    const own = await fetch(`${address}/api/v2/agents`, {
      headers: { authorization: `Bearer ${gateway.token}` },
    });
    t.is(own.status, 200);
    t.deepEqual(await own.json(), { agents: [] });
    t.is((await gateway.request('/api/v2/agents')).status, onePort === 'true' ? 200 : 404);
    t.is((await fetch(`${address}/health/ready`)).status, 200);
  }
});

test('the routes for genes are those of the v2 API, the others of their plugin those of the gateway', async (t) => {
  for (const onePort of ['true', 'false']) {
    const env = { SVC_ONE_PORT: onePort, SVC_RUNTIME_ADDR: '127.0.0.2:0' };
    const gateway = await startRuntime(t, { env, plugins: [evolution] });
    const opened = gateway.logs().map((line) => JSON.parse(line));
    const { address } = opened.find(
      ({ msg, address }) => msg === 'listening' && address.includes('127.0.0.2'),
    );
    const headers = { authorization: `Bearer ${gateway.token}` };
    const apart = async (path: string) => (await fetch(`${address}${path}`, { headers })).status;
    const own = async (path: string) => (await gateway.request(path)).status;
    for (const path of ['/api/v2/admin/evolution/stats', '/api/v1/admin/evolution/genes']) {
      t.is(await apart(path), 200, path);
      t.is(await own(path), onePort === 'true' ? 200 : 404, path);
    }
    const policy = '/admin/v1/evolution/sharing-policy';
    t.is(await own(policy), 200);
    t.is(await apart(policy), 404);
    t.is(await apart('/api/v2/agents'), 200);
  }
});

test('without a credential only callers on the loopback interface are served', async (t) => {
  const gateway = await startRuntime(t);
  t.is((await gateway.request('/api/v2/agents', { token: null })).status, 200);
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  t.is((await gateway.request('/api/v2/agents', { token: null, headers })).status, 401);
});
