import test from 'ava';
import { manualClock } from '../../testing/index.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { gatewayDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

test('a revocation, and the end of a tenant, are told to the other replicas: they do not wait for what is cached to age', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  // A clock that stands still: nothing ages here, so only an event can drop what is cached.
  const start = () => startPlatform(t, { env: fresh.environment, clock: manualClock() });
  const [here, elsewhere] = [await start(), await start()];
  const plenty = { rate_limit_rpm: 1_000_000 };
  const tenant = await here.request('/v1/tenants', { method: 'POST', body: { name: 'Acme', ...plenty } });
  const makeKey = async () =>
    (await here.request('/v1/api-keys', { method: 'POST', body: { name: 'k', tenant_id: tenant.body.id } }))
      .body;
  const [first, second] = [await makeKey(), await makeKey()];
  const status = async (token: string) => (await elsewhere.request('/v1/me', { token })).status;
  t.is(await status(first.key), 200);
  t.is(await status(second.key), 200);

  await here.request(`/v1/api-keys/${first.id}`, { method: 'DELETE' });
  await until(async () => (await status(first.key)) === 401);
  t.is(await status(second.key), 200);

  await here.request(`/v1/tenants/${tenant.body.id}`, { method: 'DELETE' });
  await until(async () => (await status(second.key)) === 401);
  t.pass();
});
