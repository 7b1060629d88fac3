import test from 'ava';
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

test('without a credential only callers on the loopback interface are served', async (t) => {
  const gateway = await startRuntime(t);
  t.is((await gateway.request('/api/v2/agents', { token: null })).status, 200);
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  t.is((await gateway.request('/api/v2/agents', { token: null, headers })).status, 401);
});
