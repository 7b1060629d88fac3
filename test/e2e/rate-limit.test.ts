import test, { type ExecutionContext } from 'ava';
import type { TestGateway } from '../../testing/index.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import type { PlainResponse } from '../support/request.ts';

const start = (t: ExecutionContext, env: Record<string, string> = {}) => startPlatform(t, { env });

/** A key of a new tenant with its own limit. */
async function tenantKey({ request }: TestGateway, rpm: number): Promise<{ key: string; tenant: string }> {
  const body = { name: 'Acme', rate_limit_rpm: rpm };
  const tenant = (await request('/v1/tenants', { method: 'POST', body })).body.id;
  const made = await request('/v1/api-keys', { method: 'POST', body: { name: 'k', tenant_id: tenant } });
  return { key: made.body.key, tenant };
}

const limits = ({ headers }: PlainResponse) =>
  [
    headers.get('x-ratelimit-limit'),
    headers.get('x-ratelimit-remaining'),
    headers.get('retry-after'),
  ] as const;

/** Sends one request after the other and returns the statuses. */
async function statuses(count: number, send: () => Promise<PlainResponse>): Promise<number[]> {
  const all: number[] = [];
  for (let sent = 0; sent < count; sent += 1) all.push((await send()).status);
  return all;
}

test('all keys of a tenant share its limit, the headers count down, and a 429 says when to come back', async (t) => {
  const gateway = await start(t);
  const { key, tenant } = await tenantKey(gateway, 3);
  const second = await gateway.request('/v1/api-keys', {
    method: 'POST',
    body: { name: 's', tenant_id: tenant },
  });
  const me = (token: string, headers = {}) => gateway.request('/v1/me', { token, headers });
  t.deepEqual(limits(await me(key)), ['3', '2', null]);
  t.deepEqual(limits(await me(second.body.key)), ['3', '1', null]);
  t.deepEqual(limits(await me(key, { 'x-svc-user-id': 'alice' })), ['3', '0', null]);

  const refused = await me(second.body.key);

  t.is(refused.status, 429);
  t.deepEqual(limits(refused), ['3', '0', '60']);
  t.like(refused.body, { status: 429, code: 'limit.rate' });
  t.is(refused.body.detail, 'No more than 3 requests a minute of the tenant are allowed');
  const chat = { method: 'POST', token: key, body: { model: 'default', messages: [] } };
  const inDialect = await gateway.request('/v1/chat/completions', chat);
  t.is(inDialect.status, 429);
  t.is(inDialect.body.error.type, 'rate_limit_error');
  const { body } = await gateway.request('/metrics');
  t.true(body.includes(`svc_rate_limit_rejected_total{tenant_id="${tenant}",window="tenant"} 2`), body);
  t.is((await gateway.request('/v1/me')).status, 200, 'other tenants are not concerned');
});

test('a user has a window of his own, which leaves the rest of the tenant’s to others', async (t) => {
  const gateway = await start(t, { SVC_USER_RATE_LIMIT_RPM: '2' });
  const { key, tenant } = await tenantKey(gateway, 5);
  const as = (user: string) => () =>
    gateway.request('/v1/me', { token: key, headers: { 'x-svc-user-id': user } });
  t.deepEqual(await statuses(4, as('alice')), [200, 200, 429, 429]);
  t.deepEqual(await statuses(3, as('bob')), [200, 200, 429]);
  t.deepEqual(await statuses(2, as('carol')), [200, 429]);
  t.regex((await as('alice')()).body.detail, /^No more than 2 requests a minute of this user of the tenant /);
  t.regex((await as('carol')()).body.detail, /^No more than 5 requests a minute of the tenant /);
  const { body } = await gateway.request('/metrics');
  t.true(body.includes(`svc_rate_limit_rejected_total{tenant_id="${tenant}",window="user"} 4`));
  t.true(body.includes(`svc_rate_limit_rejected_total{tenant_id="${tenant}",window="tenant"} 2`));
});

test('what the tenant’s window refuses uses up nothing of the user’s', async (t) => {
  const gateway = await start(t, { SVC_USER_RATE_LIMIT_RPM: '2' });
  const { key, tenant } = await tenantKey(gateway, 3);
  const as = (user: string) => () =>
    gateway.request('/v1/me', { token: key, headers: { 'x-svc-user-id': user } });
  t.deepEqual(await statuses(2, as('bob')), [200, 200]);
  t.deepEqual(await statuses(5, as('alice')), [200, 429, 429, 429, 429]);
  const operator = { headers: { 'x-svc-user-id': 'an operator with room' } };
  const raised = { method: 'PUT', body: { rate_limit_rpm: 9 }, ...operator };
  t.is((await gateway.request(`/v1/tenants/${tenant}`, raised)).status, 200);
  t.deepEqual(await statuses(2, as('alice')), [200, 429]);
  const { body } = await gateway.request('/metrics');
  t.true(body.includes(`svc_rate_limit_rejected_total{tenant_id="${tenant}",window="tenant"} 4`));
  t.true(body.includes(`svc_rate_limit_rejected_total{tenant_id="${tenant}",window="user"} 1`));
});

test('a user gets nothing back where the tenant’s window alone counts', async (t) => {
  const gateway = await start(t, { SVC_USER_RATE_LIMIT_RPM: '3' });
  const { key, tenant } = await tenantKey(gateway, 9);
  const me = () => gateway.request('/v1/me', { token: key });
  const limitTo = async (rate_limit_rpm: number) => {
    const change = { method: 'PUT', body: { rate_limit_rpm }, headers: { 'x-svc-user-id': 'with room' } };
    t.is((await gateway.request(`/v1/tenants/${tenant}`, change)).status, 200);
  };
  t.deepEqual(await statuses(3, me), [200, 200, 200]);
  await limitTo(2);
  t.deepEqual(await statuses(3, me), [429, 429, 429]);
  await limitTo(9);
  t.deepEqual(await statuses(1, me), [429]);
});

test('a changed limit counts at once', async (t) => {
  const gateway = await start(t);
  const { key, tenant } = await tenantKey(gateway, 2);
  const me = () => gateway.request('/v1/me', { token: key });
  t.deepEqual(await statuses(3, me), [200, 200, 429]);
  await gateway.request(`/v1/tenants/${tenant}`, { method: 'PUT', body: { rate_limit_rpm: 3 } });
  t.deepEqual(await statuses(2, me), [200, 429]);
});

test('callers without a credential are limited by address, those with a wrong one too', async (t) => {
  const gateway = await start(t, { SVC_ANON_RATE_LIMIT_RPM: '4' });
  const wrong = (token: string | null) => () => gateway.request('/v1/me', { token });
  t.deepEqual(await statuses(2, wrong(`hk_${'x'.repeat(43)}`)), [401, 401]);
  t.deepEqual(await statuses(1, wrong('nonsense')), [401]);
  t.deepEqual(await statuses(2, wrong(null)), [401, 429]);
  t.deepEqual(await statuses(1, wrong('nonsense')), [429]);
  t.is((await gateway.request('/nowhere', { token: null })).status, 429);
  t.is((await gateway.request('/v1/me')).status, 200, 'a good credential is not concerned');
  const { body } = await gateway.request('/metrics');
  t.regex(body, /svc_rate_limit_rejected_total\{tenant_id="anonymous",window="anonymous"\} 3/);
});

test('health and metrics are never limited', async (t) => {
  const gateway = await start(t, { SVC_ANON_RATE_LIMIT_RPM: '1' });
  for (const path of ['/health/live', '/health/ready', '/metrics']) {
    const many = await Promise.all(
      Array.from({ length: 5 }, () => gateway.request(path, { token: 'wrong' })),
    );
    t.true(many.every((answer) => answer.status === 200 && limits(answer)[0] === null));
  }
});

test('the bootstrap route has a limit of its own, which wrong tokens use up', async (t) => {
  const gateway = await start(t, { SVC_BOOTSTRAP_RATE_LIMIT_RPM: '3' });
  const bootstrap = (token: string | null) =>
    gateway.request('/admin/v1/bootstrap', { method: 'POST', token, body: {} });
  t.is((await bootstrap('wrong')).status, 401);
  t.is((await bootstrap(null)).status, 401);
  t.is((await bootstrap('wrong')).status, 401);
  const refused = await bootstrap(gateway.token);
  t.is(refused.status, 429);
  t.deepEqual(limits(refused), ['3', '0', '60']);
  t.is((await gateway.request('/v1/me')).status, 200);
});

test('X-Forwarded-For counts only where the proxy is trusted', async (t) => {
  const from = (gateway: TestGateway, address: string) => () =>
    gateway.request('/v1/me', { token: null, headers: { 'x-forwarded-for': address } });
  const trusting = await start(t, { SVC_ANON_RATE_LIMIT_RPM: '2', SVC_TRUSTED_PROXIES: 'loopback' });
  t.deepEqual(await statuses(3, from(trusting, '192.0.2.1')), [401, 401, 429]);
  t.deepEqual(await statuses(2, from(trusting, '192.0.2.2')), [401, 401]);
  // What a client writes before the proxy's own entry is nobody's address.
  t.deepEqual(await statuses(1, from(trusting, '198.51.100.7, 192.0.2.1')), [429]);
  t.deepEqual(await statuses(1, from(trusting, 'garbage')), [401]);

  const plain = await start(t, { SVC_ANON_RATE_LIMIT_RPM: '2' });
  t.deepEqual(await statuses(1, from(plain, '192.0.2.1')), [401]);
  t.deepEqual(await statuses(1, from(plain, '192.0.2.2')), [401]);
  t.deepEqual(await statuses(1, from(plain, '192.0.2.3')), [429]);
});
