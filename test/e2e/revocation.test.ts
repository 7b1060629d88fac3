import test, { type ExecutionContext } from 'ava';
import { eachGatewayDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type Replica, startReplicas } from './replicas.ts';

/** What the other replicas are given (decisions 1.2). */
const PROMISE_MS = 1000;

async function makeKey({ request }: Replica, settings: object = {}) {
  const { body } = await request('/v1/api-keys', { method: 'POST', body: { name: 'k', ...settings } });
  return body as { readonly id: string; readonly key: string; readonly tenant_id: string };
}

/** A tenant whose limit is out of the way: the test asks as fast as it can. */
async function makeTenant({ request }: Replica): Promise<string> {
  const body = { name: 'Acme', rate_limit_rpm: 100_000 };
  return (await request('/v1/tenants', { method: 'POST', body })).body.id;
}

const status = async ({ request }: Replica, token: string) => (await request('/v1/me', { token })).status;

/** No request that begins later than promised is served, and none at all after the first that was not. */
async function failsWithinASecond(t: ExecutionContext, replica: Replica, key: string): Promise<void> {
  const revokedAt = performance.now();
  let lastServed = revokedAt;
  await until(async () => {
    const began = performance.now();
    if ((await status(replica, key)) === 401) return true;
    lastServed = began;
    return false;
  });
  t.true(lastServed - revokedAt <= PROMISE_MS, `${lastServed - revokedAt} ms`);
  for (let again = 0; again < 5; again += 1) t.is(await status(replica, key), 401);
}

eachGatewayDatabase(
  test,
  'a key that is revoked, rotated, or whose tenant is deleted fails on the next request here, and within a second elsewhere',
  async (t, fresh) => {
    const [here, elsewhere] = await startReplicas(t, fresh);
    const tenant = await makeTenant(here);
    const [revoked, rotated, orphan] = await Promise.all([
      makeKey(here, { tenant_id: await makeTenant(here) }),
      makeKey(here, { tenant_id: tenant }),
      makeKey(here, { tenant_id: await makeTenant(here) }),
    ]);
    for (const { key } of [revoked, rotated, orphan]) {
      t.is(await status(here, key), 200);
      t.is(await status(elsewhere, key), 200);
    }

    t.is((await here.request(`/v1/api-keys/${revoked.id}`, { method: 'DELETE' })).status, 204);
    t.is(await status(here, revoked.key), 401);
    await failsWithinASecond(t, elsewhere, revoked.key);

    t.is(await status(elsewhere, rotated.key), 200);
    const rotation = `/admin/v1/tenants/${tenant}/api-keys/${rotated.id}/rotate`;
    const successor = await here.request(rotation, { method: 'POST' });
    t.is(successor.status, 201);
    t.is(await status(here, rotated.key), 401);
    for (const replica of [here, elsewhere]) t.is(await status(replica, successor.body.new_key.key), 200);
    await failsWithinASecond(t, elsewhere, rotated.key);

    t.is(await status(elsewhere, orphan.key), 200);
    t.is((await here.request(`/v1/tenants/${orphan.tenant_id}`, { method: 'DELETE' })).status, 202);
    t.is(await status(here, orphan.key), 401);
    await failsWithinASecond(t, elsewhere, orphan.key);
  },
);
