import test from 'ava';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { shared } from '../../../support/shared.ts';
import { DEFAULT_TENANT, startPlatform } from '../platform-gateway.ts';

const UNKNOWN = '0197a000-0000-7000-8000-00000000ffff';

const platform = shared((file) => startPlatform(file));

eachGatewayDatabase(
  test,
  "a tenant's keys are made, listed, rotated and revoked by id",
  async (t, { environment }) => {
    const gateway = await startPlatform(t, { env: environment });
    const { request } = gateway;
    const tenant = await gateway.tenant();
    const keys = `/admin/v1/tenants/${tenant}/api-keys`;
    const body = { name: 'app', roles: ['auditor'], scopes: ['read', 'audit:read'] };
    const made = await request(keys, { method: 'POST', body });
    t.is(made.status, 201);
    t.is(made.body.tenant_id, tenant);

    const rotated = await request(`${keys}/${made.body.id}/rotate`, { method: 'POST' });
    t.is(rotated.status, 201);
    t.is(rotated.headers.get('cache-control'), 'no-store');
    t.is(rotated.body.revoked_key_id, made.body.id);
    const { new_key } = rotated.body;
    t.like(new_key, { ...body, tenant_id: tenant, revoked_at: null });
    t.not(new_key.id, made.body.id);
    t.is((await request('/v1/me', { token: made.body.key })).status, 401);
    t.is((await request('/v1/me', { token: new_key.key })).status, 200);

    const again = await request(`${keys}/${made.body.id}/rotate`, { method: 'POST' });
    t.is(again.status, 409);
    t.is(again.body.code, 'api-key.revoked');

    const list = await request(keys);
    t.is(list.body.total, 2);
    const ids = list.body.api_keys.map(({ id }: { id: string }) => id);
    t.deepEqual(ids.sort(), [made.body.id, new_key.id].sort());
    t.true(list.body.api_keys.every((key: object) => !('key' in key) && !('hash' in key)));
    for (let turn = 0; turn < 2; turn += 1) {
      t.is((await request(`${keys}/${new_key.id}`, { method: 'DELETE' })).status, 204);
    }
    t.is((await request('/v1/me', { token: new_key.key })).status, 401);
  },
);

eachGatewayDatabase(test, 'of simultaneous rotations exactly one wins', async (t, { environment }) => {
  const gateway = await startPlatform(t, { env: environment });
  const { id } = await gateway.key();
  const path = `/admin/v1/tenants/${DEFAULT_TENANT}/api-keys/${id}/rotate`;
  const calls = Array.from({ length: 4 }, () => gateway.request(path, { method: 'POST' }));
  const statuses = (await Promise.all(calls)).map(({ status }) => status).sort();
  t.deepEqual(statuses, [201, 409, 409, 409]);
  t.is((await gateway.request('/v1/api-keys')).body.total, 2);
});

test('an expired key is not rotated', async (t) => {
  const clock = manualClock();
  const gateway = await startPlatform(t, { clock });
  const { id } = await gateway.key({ expires_at: new Date(clock.now() + 1000).toISOString() });
  clock.advance(1000);
  const path = `/admin/v1/tenants/${DEFAULT_TENANT}/api-keys/${id}/rotate`;
  const { status, body } = await gateway.request(path, { method: 'POST' });
  t.is(status, 409);
  t.is(body.code, 'api-key.expired');
});

test('a key that may do more than the caller is not handed to him by rotation', async (t) => {
  const gateway = await platform();
  const tenant = await gateway.tenant();
  const { id } = await gateway.key({ tenant_id: tenant, roles: ['admin'] });
  const { key: token } = await gateway.key({ tenant_id: tenant, roles: ['tenant'] });
  const path = `/admin/v1/tenants/${tenant}/api-keys/${id}/rotate`;
  const { status, body } = await gateway.request(path, { method: 'POST', token });
  t.is(status, 403);
  t.is(body.code, 'auth.grant-refused');
});

test('tenants and keys that are not there, or belong elsewhere, are 404', async (t) => {
  const gateway = await platform();
  const { request } = gateway;
  const [tenant, other] = [await gateway.tenant(), await gateway.tenant()];
  const { id } = await gateway.key({ tenant_id: other });
  const body = { name: 'x' };
  for (const missing of [UNKNOWN, 'x']) {
    t.is((await request(`/admin/v1/tenants/${missing}/api-keys`)).status, 404);
    t.is((await request(`/admin/v1/tenants/${missing}/api-keys`, { method: 'POST', body })).status, 404);
  }
  for (const kid of [id, UNKNOWN, 'x']) {
    const key = `/admin/v1/tenants/${tenant}/api-keys/${kid}`;
    t.is((await request(`${key}/rotate`, { method: 'POST' })).status, 404);
    t.is((await request(key, { method: 'DELETE' })).status, 404);
  }
});

test('governance scopes open the routes: key:read and tenant:read to read, key:write to write', async (t) => {
  const gateway = await platform();
  const tenant = await gateway.tenant();
  const path = `/admin/v1/tenants/${tenant}/api-keys`;
  const cases: readonly [object, number, number][] = [
    [{ roles: ['user'], scopes: ['key:read'] }, 200, 403],
    [{ roles: ['user'], scopes: ['tenant:*'] }, 200, 403],
    [{ roles: ['user'], scopes: ['key:*'] }, 200, 201],
    [{ roles: ['platform'] }, 200, 201],
    [{ roles: ['owner'] }, 200, 201],
    [{ roles: ['admin'] }, 403, 403],
    [{ roles: ['admin'], scopes: ['write', 'admin'] }, 200, 201],
    [{ roles: ['user'] }, 403, 403],
    [{ roles: ['auditor', 'security', 'billing', 'ops'] }, 403, 403],
  ];
  for (const [settings, read, write] of cases) {
    const { key: token } = await gateway.key({ ...settings, tenant_id: tenant });
    t.is((await gateway.request(path, { token })).status, read, JSON.stringify(settings));
    // What the key has itself it may grant, so that only the route's rule decides.
    const body = { name: 'x', ...settings };
    t.is(
      (await gateway.request(path, { method: 'POST', token, body })).status,
      write,
      JSON.stringify(settings),
    );
  }
});

test('administrators of another tenant find their own keys only', async (t) => {
  const gateway = await platform();
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  const { id } = await gateway.key({ tenant_id: foreign });
  const scopes = ['read', 'write', 'execute', 'admin'];
  const { key: token } = await gateway.key({ tenant_id: own, roles: ['admin'], scopes });
  t.is((await gateway.request(`/admin/v1/tenants/${own}/api-keys`, { token })).body.total, 1);
  for (const [tenant, kid] of [
    [foreign, id],
    [own, id],
    [DEFAULT_TENANT, UNKNOWN],
  ]) {
    const keys = `/admin/v1/tenants/${tenant}/api-keys`;
    t.is((await gateway.request(`${keys}/${kid}/rotate`, { method: 'POST', token })).status, 404);
    t.is((await gateway.request(`${keys}/${kid}`, { method: 'DELETE', token })).status, 404);
    if (tenant === own) continue;
    t.is((await gateway.request(keys, { token })).status, 404);
    t.is((await gateway.request(keys, { method: 'POST', token, body: { name: 'x' } })).status, 404);
  }
});
