import test from 'ava';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { shared } from '../../../support/shared.ts';
import { DEFAULT_TENANT, startPlatform } from '../platform-gateway.ts';

const UNKNOWN = '0197a000-0000-7000-8000-00000000ffff';
const RFC_3339_MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const platform = shared((file) => startPlatform(file));

test('a new tenant has what it was given, and the defaults for the rest', async (t) => {
  const { request } = await platform();
  const { status, body } = await request('/v1/tenants', { method: 'POST', body: { name: 'Acme' } });
  t.is(status, 201);
  t.like(body, { name: 'Acme', plan: 'free', rate_limit_rpm: 60, max_sessions: 100, deleted_at: null });
  t.regex(body.created_at, RFC_3339_MS);
  t.is(body.updated_at, body.created_at);
  const settings = { name: 'Büro 🏢', plan: 'enterprise', rate_limit_rpm: 5, max_sessions: 7 };
  const other = await request('/v1/tenants', { method: 'POST', body: settings });
  t.like(other.body, settings);
  t.deepEqual((await request(`/v1/tenants/${other.body.id}`)).body, other.body);
});

test('the default tenant is there from the start', async (t) => {
  const { request } = await platform();
  const { body } = await request(`/v1/tenants/${DEFAULT_TENANT}`);
  t.like(body, { id: DEFAULT_TENANT, name: 'Default Tenant', plan: 'pro', max_sessions: 10 });
});

test('all that is wrong with a body is told together', async (t) => {
  const { request } = await platform();
  const body = { name: 'a\u0007b', plan: 'gold', rate_limit_rpm: 0, max_sessions: '5' };
  const refused = await request('/v1/tenants', { method: 'POST', body });
  t.is(refused.status, 400);
  t.is(refused.headers.get('content-type'), 'application/problem+json');
  const pointers = refused.body.errors.map(({ pointer }: { pointer: string }) => pointer);
  t.deepEqual(pointers.sort(), ['/body/max_sessions', '/body/name', '/body/plan', '/body/rate_limit_rpm']);
  for (const name of ['', '   ', 'x'.repeat(201), null, 7]) {
    const { status, body } = await request('/v1/tenants', { method: 'POST', body: { name } });
    t.is(status, 400, JSON.stringify(name));
    t.is(body.errors[0].pointer, '/body/name');
  }
  const missing = await request('/v1/tenants', { method: 'POST' });
  t.deepEqual(missing.body.errors, [
    { pointer: '/body', message: 'is missing: send one as application/json' },
  ]);
});

test('a change leaves what it does not name', async (t) => {
  const clock = manualClock();
  const gateway = await startPlatform(t, { clock });
  const id = await gateway.tenant();
  const before = (await gateway.request(`/v1/tenants/${id}`)).body;
  clock.advance(1000);
  const changed = await gateway.request(`/v1/tenants/${id}`, { method: 'PUT', body: { plan: 'pro' } });
  t.is(changed.status, 200);
  t.deepEqual(changed.body, {
    ...before,
    plan: 'pro',
    updated_at: new Date(Date.parse(before.updated_at) + 1000).toISOString(),
  });
  t.deepEqual((await gateway.request(`/v1/tenants/${id}`)).body, changed.body);
  t.deepEqual((await gateway.request(`/v1/tenants/${id}`, { method: 'PUT', body: {} })).body, changed.body);
  const blank = await gateway.request(`/v1/tenants/${id}`, { method: 'PUT', body: { name: null, plan: '' } });
  t.is(blank.status, 400);
});

test('lists are newest first, in pages', async (t) => {
  const clock = manualClock();
  const gateway = await startPlatform(t, { clock });
  for (const name of ['one', 'two', 'three']) {
    await gateway.tenant(name);
    clock.advance(1000);
  }
  const names = async (query: string) => {
    const { body } = await gateway.request(`/v1/tenants${query}`);
    return [body.tenants.map(({ name }: { name: string }) => name), body.total, body.limit, body.offset];
  };
  t.deepEqual(await names(''), [['three', 'two', 'one', 'Default Tenant'], 4, 50, 0]);
  t.deepEqual(await names('?limit=2&offset=1'), [['two', 'one'], 4, 2, 1]);
  t.deepEqual(await names('?limit=0'), [[], 4, 0, 0]);
  t.deepEqual((await names('?limit=100000'))[2], 500);
  for (const query of ['limit=-1', 'limit=x', 'limit=1.5', 'offset=-1', 'offset=']) {
    const { status, body } = await gateway.request(`/v1/tenants?${query}`);
    t.is(status, 400, query);
    t.is(body.errors[0].pointer, `/query/${query.split('=')[0]}`);
  }
});

eachGatewayDatabase(
  test,
  'from a delete until its restore no credential of the tenant is accepted',
  async (t, fresh) => {
    const clock = manualClock();
    const gateway = await startPlatform(t, {
      clock,
      env: { ...fresh.environment, SVC_TENANT_RETENTION: '2h' },
    });
    const { request } = gateway;
    const id = await gateway.tenant('Acme');
    const { key } = await gateway.key({ tenant_id: id });
    t.is((await request('/v1/me', { token: key })).status, 200);

    const deleted = await request(`/v1/tenants/${id}`, { method: 'DELETE' });
    t.is(deleted.status, 202);
    const purgeAfter = new Date(clock.now() + 7_200_000).toISOString();
    t.deepEqual(deleted.body, { status: 'scheduled', purge_after: purgeAfter });
    t.is((await request('/v1/me', { token: key })).status, 401);

    const shown = await request(`/v1/tenants/${id}`);
    t.like(shown.body, { deleted_at: new Date(clock.now()).toISOString(), purge_after: purgeAfter });
    t.is((await request('/v1/tenants')).body.total, 1);
    t.is((await request('/v1/tenants?include_deleted=true')).body.total, 2);
    t.is((await request(`/v1/tenants/${id}`, { method: 'PUT', body: { name: 'x' } })).status, 409);
    const body = { name: 'late', tenant_id: id };
    t.is((await request('/v1/api-keys', { method: 'POST', body })).status, 409);

    clock.advance(1000);
    const again = await request(`/v1/tenants/${id}`, { method: 'DELETE' });
    t.deepEqual(again.body, deleted.body);

    const restored = await request(`/v1/tenants/${id}/restore`, { method: 'POST' });
    t.is(restored.status, 200);
    t.like(restored.body, { id, name: 'Acme', deleted_at: null, purge_after: null });
    t.is((await request('/v1/me', { token: key })).status, 200);
    const live = await request(`/v1/tenants/${id}/restore`, { method: 'POST' });
    t.is(live.status, 409);
    t.is(live.body.code, 'tenant.not-deleted');
  },
);

test('after its retention a tenant cannot be restored', async (t) => {
  const clock = manualClock();
  const gateway = await startPlatform(t, { clock });
  const id = await gateway.tenant();
  const deleted = await gateway.request(`/v1/tenants/${id}`, { method: 'DELETE' });
  t.is(Date.parse(deleted.body.purge_after), clock.now() + 720 * 3_600_000);
  clock.advance(720 * 3_600_000);
  const { status, body } = await gateway.request(`/v1/tenants/${id}/restore`, { method: 'POST' });
  t.is(status, 410);
  t.is(body.code, 'tenant.purged');
});

test('the default tenant cannot be deleted', async (t) => {
  const { request } = await platform();
  const { status, body, headers } = await request(`/v1/tenants/${DEFAULT_TENANT}`, { method: 'DELETE' });
  t.is(status, 409);
  t.is(body.code, 'tenant.default');
  t.is(headers.get('x-should-retry'), 'false');
});

test('an unknown id is 404 for every verb', async (t) => {
  const { request } = await platform();
  for (const id of [UNKNOWN, 'x', 'a%00b', '%F0%9F%92%A5']) {
    for (const [method, rest, body] of [
      ['GET', ''],
      ['PUT', '', { name: 'x' }],
      ['DELETE', ''],
      ['POST', '/restore'],
    ] as const) {
      const answer = await request(`/v1/tenants/${id}${rest}`, { method, body });
      t.is(answer.status, 404, `${method} ${id}${rest}`);
      t.is(answer.body.code, 'tenant.not-found');
    }
  }
});

for (const role of ['admin', 'owner', 'tenant']) {
  test(`role ${role} of another tenant administers its own name, and nothing else`, async (t) => {
    const gateway = await platform();
    const own = await gateway.tenant('Own');
    const foreign = await gateway.tenant('Foreign');
    const { key: token } = await gateway.key({ tenant_id: own, roles: [role] });
    const call = (method: string, path: string, body?: object) =>
      gateway.request(path, { method, token, ...(body && { body }) });

    const list = await call('GET', '/v1/tenants?include_deleted=true');
    t.is(list.body.total, 1);
    t.is(list.body.tenants[0].id, own);
    const record = (await call('GET', `/v1/tenants/${own}`)).body;
    t.is(record.name, 'Own');

    const renamed = await call('PUT', `/v1/tenants/${own}`, { ...record, name: 'Renamed' });
    t.is(renamed.status, 200);
    t.is(renamed.body.name, 'Renamed');
    const refused = await call('PUT', `/v1/tenants/${own}`, { name: 'More', rate_limit_rpm: 1, plan: 'pro' });
    t.is(refused.status, 403);
    t.is((await call('GET', `/v1/tenants/${own}`)).body.name, 'Renamed');
    t.is((await call('POST', '/v1/tenants', { name: 'New' })).status, 403);
    t.is((await call('DELETE', `/v1/tenants/${own}`)).status, 403);
    t.is((await call('POST', `/v1/tenants/${own}/restore`)).status, 403);

    for (const id of [foreign, DEFAULT_TENANT, UNKNOWN]) {
      t.is((await call('GET', `/v1/tenants/${id}`)).status, 404);
      t.is((await call('PUT', `/v1/tenants/${id}`, { name: 'Mine' })).status, 404);
      t.is((await call('DELETE', `/v1/tenants/${id}`)).status, 404);
      t.is((await call('POST', `/v1/tenants/${id}/restore`)).status, 404);
    }
    t.is((await gateway.request(`/v1/tenants/${foreign}`)).body.name, 'Foreign');
  });
}

test('other roles, keys that only read, and callers without a credential are refused', async (t) => {
  const gateway = await platform();
  for (const roles of [['user'], ['auditor'], ['security'], ['billing'], ['ops'], ['platform']]) {
    const { key: token } = await gateway.key({ roles });
    t.is((await gateway.request('/v1/tenants', { token })).status, 403, roles.join());
  }
  const { key: token } = await gateway.key({ roles: ['admin'], scopes: ['read'] });
  t.is((await gateway.request('/v1/tenants', { token })).status, 200);
  const write = { method: 'POST', body: { name: 'x' } };
  t.is((await gateway.request('/v1/tenants', { ...write, token })).status, 403);
  t.is((await gateway.request('/v1/tenants', { ...write, token: null })).status, 401);
});
