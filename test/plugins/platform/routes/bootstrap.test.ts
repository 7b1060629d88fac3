import test from 'ava';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { startPlatform } from '../platform-gateway.ts';

const BOOTSTRAP = '/admin/v1/bootstrap';
const STATUS = '/admin/v1/bootstrap/status';

test('the first key is an administrator with break-glass, and the status tells that it is there', async (t) => {
  const { request } = await startPlatform(t);
  t.deepEqual((await request(STATUS, { token: null })).body, { bootstrap_required: true });
  const created = await request(BOOTSTRAP, { method: 'POST', body: { name: 'first' } });
  t.is(created.status, 201);
  t.regex(created.body.key, /^hk_[A-Za-z0-9_-]{43}$/);
  t.is(created.body.prefix, created.body.key.slice(0, 8));
  t.is(created.body.name, 'first');
  t.deepEqual(created.body.roles, ['admin']);
  t.true(created.body.scopes.includes('admin'));
  t.is(created.headers.get('cache-control'), 'no-store');
  t.deepEqual((await request(STATUS, { token: null })).body, { bootstrap_required: false });
  const me = await request('/v1/me', { token: created.body.key });
  t.is(me.body.auth_method, 'api_key');
  t.is((await request('/admin/v1/audit-logs', { token: created.body.key })).status, 200);
});

test('a second call is refused until the key is revoked or expired', async (t) => {
  const clock = manualClock();
  const { request } = await startPlatform(t, { clock });
  const expires = new Date(clock.now() + 60_000).toISOString();
  const first = await request(BOOTSTRAP, { method: 'POST', body: { expires_at: expires } });
  t.is(first.body.expires_at, expires);
  t.is(first.body.name, 'bootstrap');
  const refused = await request(BOOTSTRAP, { method: 'POST' });
  t.is(refused.status, 403);
  t.is(refused.body.code, 'bootstrap.completed');
  clock.advance(60_000);
  const second = await request(BOOTSTRAP, { method: 'POST' });
  t.is(second.status, 201);
  await request(`/v1/api-keys/${second.body.id}`, { method: 'DELETE' });
  t.is((await request(BOOTSTRAP, { method: 'POST' })).status, 201);
});

test('only the static token bootstraps', async (t) => {
  const gateway = await startPlatform(t);
  const { key } = await gateway.key({ roles: ['admin'], scopes: ['read', 'write', 'admin'] });
  for (const token of [null, 'wrong', key]) {
    const { status, body } = await gateway.request(BOOTSTRAP, { method: 'POST', token, body: { name: 'x' } });
    t.is(status, 401);
    t.is(body.code, 'auth.required');
  }
});

test('attempts are limited by source address, wrong tokens too', async (t) => {
  const { request } = await startPlatform(t, { env: { SVC_BOOTSTRAP_RATE_LIMIT_RPM: '2' } });
  const statuses: number[] = [];
  for (const token of ['wrong', null])
    statuses.push((await request(BOOTSTRAP, { method: 'POST', token })).status);
  const limited = await request(BOOTSTRAP, { method: 'POST' });
  t.deepEqual([...statuses, limited.status], [401, 401, 429]);
  t.is(limited.headers.get('retry-after'), '60');
});

test('a bad name and a bad expiry are told', async (t) => {
  const { request } = await startPlatform(t);
  const bad = await request(BOOTSTRAP, { method: 'POST', body: { name: '', expires_at: 'soon' } });
  t.is(bad.status, 400);
  t.deepEqual(bad.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
    '/body/expires_at',
    '/body/name',
  ]);
  for (const expires_at of ['2001-01-01T00:00:00Z', '2090-12-31T23:59:60Z']) {
    const both = await request(BOOTSTRAP, { method: 'POST', body: { name: '', expires_at } });
    const pointers = both.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    t.deepEqual(pointers, ['/body/name', '/body/expires_at'], expires_at);
  }
  const past = await request(BOOTSTRAP, { method: 'POST', body: { expires_at: '2001-01-01T00:00:00Z' } });
  t.is(past.body.errors[0].message, 'must be in the future');
});

eachGatewayDatabase(test, 'of simultaneous calls exactly one wins', async (t, { environment }) => {
  const { request } = await startPlatform(t, {
    env: { ...environment, SVC_BOOTSTRAP_RATE_LIMIT_RPM: '100' },
  });
  const calls = Array.from({ length: 6 }, () => request(BOOTSTRAP, { method: 'POST' }));
  const statuses = (await Promise.all(calls)).map(({ status }) => status).sort();
  t.deepEqual(statuses, [201, 403, 403, 403, 403, 403]);
});
