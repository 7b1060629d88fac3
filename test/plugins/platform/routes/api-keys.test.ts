import test from 'ava';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { shared } from '../../../support/shared.ts';
import { DEFAULT_TENANT, startPlatform } from '../platform-gateway.ts';

const UNKNOWN = '0197a000-0000-7000-8000-00000000ffff';

const platform = shared((file) => startPlatform(file));

eachGatewayDatabase(test, 'a key works from its creation to its revocation', async (t, { environment }) => {
  const gateway = await startPlatform(t, { env: environment });
  const { request } = gateway;
  const tenant = await gateway.tenant();
  const created = await request('/v1/api-keys', { method: 'POST', body: { name: 'CI', tenant_id: tenant } });
  t.is(created.status, 201);
  t.is(created.headers.get('cache-control'), 'no-store');
  const { key, ...record } = created.body;
  t.regex(key, /^hk_[A-Za-z0-9_-]{43}$/);
  t.like(record, { name: 'CI', tenant_id: tenant, roles: ['user'], scopes: [], prefix: key.slice(0, 8) });
  t.like(record, { expires_at: null, revoked_at: null, last_used_at: null });
  t.is((await request('/v1/me', { token: key })).body.identity, record.id);

  const listed = await request('/v1/api-keys');
  t.like(listed.body, { total: 1, limit: 50, offset: 0 });
  t.deepEqual(listed.body.api_keys, [record]);

  for (let turn = 0; turn < 2; turn += 1) {
    const revoked = await request(`/v1/api-keys/${record.id}`, { method: 'DELETE' });
    t.is(revoked.status, 204);
    t.is(revoked.body, '');
    t.is((await request('/v1/me', { token: key })).status, 401);
  }
  t.truthy((await request('/v1/api-keys')).body.api_keys[0].revoked_at);
  t.false(gateway.logs().some((line) => line.includes(key)));
});

eachGatewayDatabase(test, 'a key expires on time', async (t, { environment }) => {
  const clock = manualClock();
  const gateway = await startPlatform(t, { clock, env: environment });
  const expires_at = new Date(clock.now() + 60_000).toISOString();
  const { key } = await gateway.key({ expires_at: expires_at.replace('Z', '+00:00') });
  t.is((await gateway.request('/v1/api-keys')).body.api_keys[0].expires_at, expires_at);
  clock.advance(59_999);
  t.is((await gateway.request('/v1/me', { token: key })).status, 200);
  clock.advance(1);
  t.is((await gateway.request('/v1/me', { token: key })).status, 401);
});

eachGatewayDatabase(test, 'a key may expire at the end of all time', async (t, { environment }) => {
  const gateway = await startPlatform(t, { env: environment });
  await gateway.key({ expires_at: '9999-12-31T23:59:59-12:00' });
  t.is((await gateway.request('/v1/api-keys')).body.api_keys[0].expires_at, '9999-12-31T23:59:59.999Z');
});

eachGatewayDatabase(test, "one tenant's keys are out of another's reach", async (t, { environment }) => {
  const gateway = await startPlatform(t, { env: environment });
  const [own, foreign] = [await gateway.tenant('Own'), await gateway.tenant('Foreign')];
  const theirs = await gateway.key({ tenant_id: foreign });
  const operators = await gateway.key();
  for (const role of ['admin', 'owner', 'tenant']) {
    const { id, key: token } = await gateway.key({ tenant_id: own, roles: [role] });
    const list = await gateway.request('/v1/api-keys', { token });
    t.true(list.body.api_keys.some((key: { id: string }) => key.id === id));
    t.true(list.body.api_keys.every((key: { tenant_id: string }) => key.tenant_id === own));
    for (const key of [theirs, operators]) {
      const revoke = await gateway.request(`/v1/api-keys/${key.id}`, { method: 'DELETE', token });
      t.is(revoke.status, 404);
      t.is((await gateway.request('/v1/me', { token: key.key })).status, 200);
    }
    for (const tenant_id of [foreign, DEFAULT_TENANT, UNKNOWN]) {
      const body = { name: 'mine', roles: [role], tenant_id };
      const made = await gateway.request('/v1/api-keys', { method: 'POST', token, body });
      t.is(made.status, 403);
      t.is(made.body.code, 'api-key.foreign-tenant');
    }
    const body = { name: 'mine', roles: [role] };
    const made = await gateway.request('/v1/api-keys', { method: 'POST', token, body });
    t.is(made.status, 201);
    t.is(made.body.tenant_id, own);
    t.is((await gateway.request(`/v1/api-keys/${made.body.id}`, { method: 'DELETE', token })).status, 204);
  }
});

test('an operator names any tenant that there is, and reaches all keys', async (t) => {
  const gateway = await startPlatform(t);
  const tenant = await gateway.tenant();
  const key = await gateway.key({ tenant_id: tenant });
  t.is((await gateway.request('/v1/me', { token: key.key })).body.tenant_id, tenant);
  const own = await gateway.key();
  t.is((await gateway.request('/v1/me', { token: own.key })).body.tenant_id, DEFAULT_TENANT);
  t.is((await gateway.request('/v1/api-keys')).body.total, 2);
  t.is((await gateway.request(`/v1/api-keys/${key.id}`, { method: 'DELETE' })).status, 204);
  for (const tenant_id of [UNKNOWN, 'x', 'a\u0000b']) {
    const body = { name: 'x', tenant_id };
    const { status, body: problem } = await gateway.request('/v1/api-keys', { method: 'POST', body });
    t.is(status, 404);
    t.is(problem.code, 'tenant.not-found');
  }
  for (const id of [UNKNOWN, 'x', 'a%00b']) {
    const { status, body } = await gateway.request(`/v1/api-keys/${id}`, { method: 'DELETE' });
    t.is(status, 404);
    t.is(body.code, 'api-key.not-found');
  }
});

test('nobody grants what he does not have, and is told what', async (t) => {
  const gateway = await platform();
  const tenant = await gateway.tenant();
  const { key: token } = await gateway.key({ tenant_id: tenant, roles: ['owner'] });
  const body = { name: 'king', roles: ['user', 'admin', 'billing'], scopes: ['read', 'admin'] };
  const refused = await gateway.request('/v1/api-keys', { method: 'POST', token, body });
  t.is(refused.status, 403);
  t.is(refused.body.code, 'auth.grant-refused');
  t.deepEqual(refused.body.errors, [
    { pointer: '/body/roles/1', message: 'you do not have the role admin' },
    { pointer: '/body/roles/2', message: 'you do not have the role billing' },
    { pointer: '/body/scopes/1', message: 'you do not have the scope admin' },
  ]);
});

test('what a key lists is what it may do; admin is never implied', async (t) => {
  const gateway = await platform();
  const { key: reader } = await gateway.key({ roles: ['admin'], scopes: ['read'] });
  t.is((await gateway.request('/v1/api-keys', { token: reader })).status, 200);
  const body = { name: 'x', scopes: ['read'] };
  t.is((await gateway.request('/v1/api-keys', { method: 'POST', token: reader, body })).status, 403);
  const { key: legacy } = await gateway.key({ roles: ['admin'] });
  t.is((await gateway.request('/v1/api-keys', { method: 'POST', token: legacy, body })).status, 201);
  t.is((await gateway.request('/admin/v1/audit-logs', { token: legacy })).status, 403);
  const { key: admin } = await gateway.key({ roles: ['admin'], scopes: ['read', 'admin'] });
  t.is((await gateway.request('/admin/v1/audit-logs', { token: admin })).status, 200);
});

test('all that is wrong with a body is told together', async (t) => {
  const { request } = await platform();
  const post = (body: object) => request('/v1/api-keys', { method: 'POST', body });
  const pointers = ({ body }: { body: { errors: { pointer: string }[] } }) =>
    body.errors.map(({ pointer }) => pointer).sort();
  const form = await post({ roles: 'admin', scopes: [7], expires_at: 'tomorrow' });
  t.is(form.status, 400);
  t.deepEqual(pointers(form), ['/body/expires_at', '/body/name', '/body/roles', '/body/scopes/0']);
  t.deepEqual(pointers(await post({ name: 'x', roles: [{ toString: 7 }] })), ['/body/roles/0']);
  const meaning = await post({
    name: 'x',
    roles: ['king'],
    scopes: ['read', 'fly'],
    expires_at: '2001-01-01T00:00:00Z',
  });
  t.is(meaning.status, 400);
  t.deepEqual(pointers(meaning), ['/body/expires_at', '/body/roles/0', '/body/scopes/1']);
  const both = await post({
    roles: ['king', 'user'],
    scopes: ['fly', 7],
    expires_at: '2001-01-01T00:00:00Z',
  });
  t.deepEqual(pointers(both), [
    '/body/expires_at',
    '/body/name',
    '/body/roles/0',
    '/body/scopes/0',
    '/body/scopes/1',
  ]);
  for (const expires_at of [
    '2090-02-30T00:00:00Z',
    '2090-01-01',
    '2090-01-01T00:00:00',
    '2090-12-31T23:59:60Z',
    '2090-01-01T00:00:00+02',
    7,
  ]) {
    t.deepEqual(pointers(await post({ name: 'x', expires_at })), ['/body/expires_at'], String(expires_at));
  }
});

eachGatewayDatabase(
  test,
  'q finds keys by a part of name, prefix or id, within reach',
  async (t, { environment }) => {
    const gateway = await startPlatform(t, { env: environment });
    const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
    const { key: token } = await gateway.key({ tenant_id: own, roles: ['admin'], name: 'Administration' });
    const build = await gateway.key({ tenant_id: own, name: 'Build 100%' });
    const theirs = await gateway.key({ tenant_id: foreign, name: 'build farm' });
    const found = async (path: string, q: string, as?: string) => {
      const asked = `${path}?${new URLSearchParams({ q })}`;
      const { status, body } = await gateway.request(asked, as === undefined ? {} : { token: as });
      t.is(status, 200, asked);
      t.is(body.total, body.api_keys.length, asked);
      return body.api_keys.map(({ id }: { id: string }) => id);
    };
    t.deepEqual(await found('/v1/api-keys', 'BUILD', token), [build.id]);
    t.deepEqual(await found('/v1/api-keys', '0%', token), [build.id]);
    t.deepEqual(await found('/v1/api-keys', 'b%', token), []);
    t.deepEqual(await found('/v1/api-keys', build.key.slice(0, 8), token), [build.id]);
    t.deepEqual(await found('/v1/api-keys', build.id.toUpperCase(), token), [build.id]);
    t.deepEqual((await found('/v1/api-keys', 'build')).toSorted(), [build.id, theirs.id].toSorted());
    t.deepEqual(await found(`/admin/v1/tenants/${foreign}/api-keys`, 'build'), [theirs.id]);
  },
);
