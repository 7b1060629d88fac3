import test from 'ava';
import { startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';

test('a process that SVC_PLUGINS leaves without plugins serves health, metrics and their administration', async (t) => {
  const env = { SVC_PLUGINS: 'none-of-them' };
  const gateway = await startGatewayProcess(t, await temporaryFolder(t), env);
  const { request } = gateway;
  t.deepEqual((await request('/health/live', { token: null })).body, { status: 'ok' });
  t.deepEqual((await request('/health/ready', { token: null })).body, { status: 'ready', database: 'ok' });
  const metrics = await request('/metrics', { token: null });
  t.regex(metrics.headers.get('content-type') ?? '', /^text\/plain/);
  t.regex(metrics.body, /^svc_http_requests_in_flight \d+$/m);
  t.regex(metrics.body, /^process_cpu_seconds_total /m);
  t.is((await request('/v1/me')).status, 404);
  const { body } = await request('/admin/v1/plugins');
  t.true(body.total >= 2);
  for (const plugin of body.plugins) {
    t.like(plugin, { state: 'stopped', reason: 'SVC_PLUGINS does not name it' });
  }
  t.is((await gateway.stop()).code, 0);
});
