import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_TENANT, type PlatformGateway, startPlatform } from '../platform-gateway.ts';

const OWN = '/v1/audit-logs';
const ALL = '/admin/v1/audit-logs';

interface AuditLog {
  readonly tenant_id: string;
  readonly action: string;
  readonly created_at: string;
  readonly request_id: string;
  readonly error_code: string | null;
}

/** Waits until the request with this id is recorded and returns its record. */
async function recorded(gateway: PlatformGateway, requestId: string) {
  const find = async () => {
    const { body } = await gateway.request(`${ALL}?limit=500`);
    return body.audit_logs.find((log: { request_id: string }) => log.request_id === requestId);
  };
  await until(async () => (await find()) !== undefined);
  return find();
}

eachGatewayDatabase(
  test,
  'a record tells who did what, and never the content',
  async (t, { environment }) => {
    const gateway = await startPlatform(t, { env: environment });
    const tenant = await gateway.tenant();
    const { id, key } = await gateway.key({ tenant_id: tenant, roles: ['admin'] });
    await gateway.request('/v1/api-keys?verbose=1', {
      method: 'POST',
      token: key,
      body: { name: 'confidential', scopes: ['fly'] },
      headers: { 'x-request-id': 'request-7', 'user-agent': 'test-agent' },
    });
    const record = await recorded(gateway, 'request-7');
    t.like(record, {
      tenant_id: tenant,
      user_id: id,
      action: 'POST /v1/api-keys',
      status_code: 400,
      error_code: 'request.invalid',
      auth_method: 'api_key',
      source_ip: '127.0.0.1',
      user_agent: 'test-agent',
      session_id: null,
    });
    t.regex(record.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.true(Number.isInteger(record.latency_ms));
    const text = JSON.stringify(record);
    t.true(text.includes('scopes'));
    t.false(text.includes('confidential'));
    t.false(text.includes(key));
  },
);

test('records are found by exact action and by period', async (t) => {
  const gateway = await startPlatform(t);
  await gateway.request('/v1/me', { headers: { 'x-request-id': 'me-1' } });
  await gateway.request('/v1/me/nothing', { headers: { 'x-request-id': 'me-2' } });
  const record: AuditLog = await recorded(gateway, 'me-1');
  await recorded(gateway, 'me-2');
  const found = async (query: Record<string, string>) => {
    const { status, body } = await gateway.request(`${OWN}?${new URLSearchParams(query)}`);
    t.is(status, 200, JSON.stringify(query));
    return body.audit_logs.map(({ action }: AuditLog) => action);
  };
  const action = 'GET /v1/me';
  t.deepEqual(await found({ action }), [action]);
  t.deepEqual(await found({ action: 'GET /v1/m' }), []);
  const at = record.created_at;
  t.deepEqual(await found({ action, from: at, to: at }), [action]);
  const later = new Date(Date.parse(at) + 1).toISOString();
  const earlier = new Date(Date.parse(at) - 1).toISOString();
  t.deepEqual(await found({ action, from: later }), []);
  t.deepEqual(await found({ action, to: earlier }), []);
  const day = at.slice(0, 10);
  t.deepEqual(await found({ action, from: day, to: day }), [action]);
  t.deepEqual(await found({ action, to: '2001-01-01' }), []);
  const unescaped = `${at.slice(0, -1)}+00:00`;
  const { body } = await gateway.request(`${OWN}?from=${unescaped}&to=${unescaped}&action=GET%20/v1/me`);
  t.is(body.total, 1);
});

test('pages have a default, a maximum, and a total', async (t) => {
  const gateway = await startPlatform(t);
  for (let i = 0; i < 3; i += 1) {
    await gateway.request('/v1/me', { headers: { 'x-request-id': `me-${i}` } });
    await recorded(gateway, `me-${i}`);
  }
  const list = async (query: string) => (await gateway.request(`${OWN}?action=GET%20/v1/me&${query}`)).body;
  t.like(await list(''), { total: 3, limit: 50, offset: 0 });
  const page = await list('limit=1&offset=1');
  t.like(page, { total: 3, limit: 1, offset: 1 });
  t.is(page.audit_logs[0].request_id, 'me-1');
  t.is((await list('limit=9999')).limit, 500);
});

test('what is no moment and no page is told', async (t) => {
  const { request } = await startPlatform(t);
  for (const path of [OWN, ALL]) {
    const bad = await request(`${path}?from=yesterday&to=2026-02-30`);
    t.is(bad.status, 400);
    t.deepEqual(
      bad.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      ['/query/from', '/query/to'],
    );
    t.is((await request(`${path}?limit=-1`)).status, 400);
    const both = await request(`${path}?limit=-1&to=yesterday`);
    t.deepEqual(
      both.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      ['/query/limit', '/query/to'],
    );
    t.is((await request(`${path}?action=a%00b`)).status, 400);
  }
});

test('a failed authentication is recorded; whose it was only where that is known', async (t) => {
  const gateway = await startPlatform(t);
  const tenant = await gateway.tenant();
  const { id, key } = await gateway.key({ tenant_id: tenant });
  await gateway.request(`/v1/api-keys/${id}`, { method: 'DELETE' });
  for (const [token, name] of [
    [key, 'revoked'],
    ['hk_unknown', 'unknown'],
  ]) {
    t.is((await gateway.request('/v1/me', { token, headers: { 'x-request-id': name! } })).status, 401);
  }
  t.like(await recorded(gateway, 'revoked'), {
    tenant_id: tenant,
    error_code: 'AUTH_FAILED',
    status_code: 401,
  });
  t.like(await recorded(gateway, 'unknown'), { tenant_id: '', error_code: 'AUTH_FAILED', status_code: 401 });
});

test('operators search all tenants, or one; everybody else his own', async (t) => {
  const gateway = await startPlatform(t);
  const { request } = gateway;
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  for (const [tenant_id, name] of [
    [own, 'own'],
    [foreign, 'foreign'],
  ]) {
    const { key: token } = await gateway.key({ tenant_id });
    await request('/v1/me', { token, headers: { 'x-request-id': name! } });
    await recorded(gateway, name!);
  }
  const tenants = async (path: string, token?: string) => {
    const { status, body } = await request(path, token === undefined ? {} : { token });
    t.is(status, 200, path);
    return new Set<string>(body.audit_logs.map(({ tenant_id }: AuditLog) => tenant_id));
  };
  const seen = await tenants(`${ALL}?limit=500`);
  t.true([own, foreign, DEFAULT_TENANT].every((tenant) => seen.has(tenant)));
  t.deepEqual(await tenants(`${ALL}?tenant_id=${own}`), new Set([own]));
  t.deepEqual(await tenants(`${ALL}?tenant_id=x`), new Set());
  t.deepEqual(await tenants(OWN), new Set([DEFAULT_TENANT]));

  const { key: auditor } = await gateway.key({ roles: ['auditor'] });
  t.true((await tenants(`${ALL}?limit=500`, auditor)).has(foreign));
  t.deepEqual(await tenants(OWN, auditor), new Set([DEFAULT_TENANT]));

  for (const roles of [['auditor'], ['security'], ['owner']]) {
    const { key: token } = await gateway.key({ tenant_id: own, roles });
    t.deepEqual(await tenants(`${ALL}?limit=500`, token), new Set([own]), roles.join());
    t.deepEqual(await tenants(`${ALL}?tenant_id=${foreign}`, token), new Set(), roles.join());
    t.deepEqual(await tenants(`${ALL}?tenant_id=${own}`, token), new Set([own]), roles.join());
  }
});

test('roles and scopes decide who may look', async (t) => {
  const gateway = await startPlatform(t);
  const cases: readonly [object, number, number][] = [
    [{ roles: ['auditor'] }, 200, 200],
    [{ roles: ['auditor'], scopes: ['audit'] }, 200, 200],
    [{ roles: ['admin'] }, 200, 403],
    [{ roles: ['admin'], scopes: ['read', 'admin'] }, 200, 200],
    [{ roles: ['owner'] }, 200, 200],
    [{ roles: ['tenant'] }, 200, 403],
    [{ roles: ['security'] }, 403, 200],
    [{ roles: ['user'] }, 403, 403],
    [{ roles: ['user'], scopes: ['read', 'audit:read'] }, 403, 200],
    [{ roles: ['billing', 'ops', 'platform'] }, 403, 403],
  ];
  const tenant = await gateway.tenant();
  for (const [settings, own, all] of cases) {
    const { key: token } = await gateway.key({ ...settings, tenant_id: tenant });
    t.is((await gateway.request(OWN, { token })).status, own, `${OWN} ${JSON.stringify(settings)}`);
    t.is((await gateway.request(ALL, { token })).status, all, `${ALL} ${JSON.stringify(settings)}`);
  }
  t.is((await gateway.request(OWN, { token: null })).status, 401);
  t.is((await gateway.request(ALL, { token: null })).status, 401);
});

eachGatewayDatabase(
  test,
  'q finds records by a part of action, user, request, session or error',
  async (t, { environment }) => {
    const gateway = await startPlatform(t, { env: environment });
    const tenant = await gateway.tenant();
    const { id, key } = await gateway.key({ tenant_id: tenant, roles: ['admin'] });
    for (const [path, request] of [
      ['/v1/me', 'Needle_1'],
      ['/v1/me/nothing', 'x2'],
    ] as const) {
      await gateway.request(path, { token: key, headers: { 'x-request-id': request } });
      await gateway.request(path, { headers: { 'x-request-id': `other-${request}` } });
    }
    for (const request of ['Needle_1', 'x2', 'other-Needle_1', 'other-x2']) await recorded(gateway, request);
    const found = async (path: string, query: Record<string, string>, token?: string) => {
      const asked = `${path}?${new URLSearchParams(query)}`;
      const { status, body } = await gateway.request(asked, token === undefined ? {} : { token });
      t.is(status, 200, asked);
      t.is(body.total, body.audit_logs.length, asked);
      return body.audit_logs.map(({ request_id }: AuditLog) => request_id).toSorted();
    };
    t.deepEqual(await found(OWN, { q: 'needle_' }, key), ['Needle_1']);
    t.deepEqual(await found(OWN, { q: 'ME/NOTH' }, key), ['x2']);
    t.deepEqual(await found(OWN, { q: id.slice(3), action: 'GET /v1/me' }, key), ['Needle_1']);
    t.deepEqual(await found(OWN, { q: 'needle%' }, key), []);
    t.deepEqual(await found('/admin/v1/audit-logs', { q: 'needle' }), ['Needle_1', 'other-Needle_1']);
    t.deepEqual(await found('/admin/v1/audit-logs', { q: 'needle', tenant_id: tenant }), ['Needle_1']);
  },
);

test('records of administration say what was made and changed, and hold no key', async (t) => {
  const gateway = await startPlatform(t);
  const changesOf = async (path: string, method: string, body?: object) => {
    const answer = await gateway.request(path, { method, ...(body && { body }) });
    const action = `${method} ${path}`;
    let found: { detail: { changes?: object } } | undefined;
    await until(async () => {
      const { audit_logs } = (await gateway.request(`${ALL}?limit=500`)).body;
      found = audit_logs.find((log: { action: string }) => log.action === action);
      return found !== undefined;
    });
    t.false(JSON.stringify(found).includes('hk_'), action);
    return { body: answer.body, changes: found!.detail.changes };
  };
  const first = await changesOf('/admin/v1/bootstrap', 'POST');
  t.like(first.changes, { api_key_id: first.body.id, tenant_id: DEFAULT_TENANT });
  const tenant = await changesOf('/v1/tenants', 'POST', { name: 'Acme' });
  const { id } = tenant.body;
  t.like(tenant.changes, { tenant_id: id, plan: 'free', rate_limit_rpm: 60 });
  t.like((await changesOf(`/v1/tenants/${id}`, 'PUT', { rate_limit_rpm: 7 })).changes, { rate_limit_rpm: 7 });
  const wanted = { name: 'app', roles: ['auditor'], scopes: ['read', 'audit:read'] };
  const granted = { roles: 'auditor', scopes: 'read,audit:read', expires_at: null };
  const own = await changesOf('/v1/api-keys', 'POST', wanted);
  t.deepEqual(own.changes, { ...granted, api_key_id: own.body.id, tenant_id: DEFAULT_TENANT });
  const keys = `/admin/v1/tenants/${id}/api-keys`;
  const made = await changesOf(keys, 'POST', wanted);
  t.deepEqual(made.changes, { ...granted, api_key_id: made.body.id, tenant_id: id });
  const rotated = await changesOf(`${keys}/${made.body.id}/rotate`, 'POST');
  t.deepEqual(rotated.changes, { ...granted, api_key_id: rotated.body.new_key.id, tenant_id: id });
  const host = { host_pattern: 'ads.example.com', action: 'deny' };
  const rule = await changesOf('/admin/v1/egress/rules', 'POST', { ...host, tenant_id: id });
  t.like(rule.changes, { ...host, rule_id: rule.body.id, tenant_id: id });
  const policy = await changesOf(`/admin/v1/tenants/${id}/sandbox-policy`, 'POST', {
    allowed_tools: ['calculator', 'time'],
  });
  t.like(policy.changes, { allowed_tools: 'calculator,time', restrict_network: true });
});
