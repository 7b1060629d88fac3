import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { runGatewayProcess, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';

test('a process that is left without plugins serves health, metrics and their administration', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'gateway.yaml'), 'plugins: {pages: {enabled: false}}\n');
  const gateway = await startGatewayProcess(t, folder, { SVC_PLUGINS: 'pages' });
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
    const reason = plugin.name === 'pages' ? 'disabled in gateway.yaml' : 'SVC_PLUGINS does not name it';
    t.like(plugin, { state: 'stopped', reason });
  }
  t.is((await gateway.stop()).code, 0);
});

test('a misspelt name in SVC_PLUGINS ends the start, and the migration, and says which was meant', async (t) => {
  const folder = await temporaryFolder(t);
  for (const args of [[], ['--migrate-only']]) {
    const { code, stderr } = await runGatewayProcess(t, folder, { SVC_PLUGINS: 'platfrom' }, args);
    t.is(code, 1);
    t.regex(stderr, /SVC_PLUGINS: there is no plugin platfrom, did you mean platform\?/);
  }
});
