import test from 'ava';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { gatewayDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

test('replicas on a database server are compared while they run, and a metric tells of settings that differ', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const start = () => startPlatform(t, { env: fresh.environment });
  const [here, elsewhere] = [await start(), await start()];
  const running = async () => (await fresh.ask('select id from kernel_replicas')).length;
  // A look that fails on a busy server is followed by the next one after 30 s.
  await until(async () => (await running()) === 2, 60_000);
  const metrics = await here.request('/metrics');
  t.regex(String(metrics.body), /^svc_replica_settings_differ\{setting="REDIS_URL"\} 0$/m);

  await elsewhere.stop();
  await until(async () => (await running()) === 1);
});
