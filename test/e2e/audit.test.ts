import { createSign, generateKeyPairSync } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { TestGateway } from '../../testing/index.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { endlessStream, startFakeProvider, stream } from '../support/fake-provider.ts';
import { connect } from '../support/raw-http.ts';
import { open } from '../support/request.ts';
import { until } from '../support/until.ts';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

interface AuditedGateway extends TestGateway {
  /** The record of a request, once it is there. */
  record(requestId: string): Promise<Record<string, unknown>>;
  /** All records, once the record of one more request is there. */
  records(): Promise<Record<string, unknown>[]>;
}

async function start(t: ExecutionContext, env: Record<string, string> = {}): Promise<AuditedGateway> {
  const gateway = await startPlatform(t, { env });
  const { request } = gateway;
  const all = async () => (await request('/admin/v1/audit-logs?limit=500')).body.audit_logs;
  const record = async (requestId: string) => {
    const find = async () => (await all()).find((r: { request_id: string }) => r.request_id === requestId);
    await until(async () => (await find()) !== undefined);
    return find();
  };
  let marks = 0;
  const records = async () => {
    marks += 1;
    await request('/v1/me', { headers: { 'x-request-id': `mark-${marks}` } });
    await record(`mark-${marks}`);
    return all();
  };
  return Object.assign(gateway, { record, records });
}

const as = (requestId: string) => ({ 'x-request-id': requestId });

test('a record says who did what, from where, how it ended and how long it took', async (t) => {
  const gateway = await start(t);
  const { status, headers } = await gateway.request('/v1/models', {
    headers: { ...as('good'), 'user-agent': 'my-client/1.0', 'x-svc-user-id': 'alice' },
  });
  t.is(status, 200);
  t.is(headers.get('x-request-id'), 'good');
  const { id, latency_ms, created_at, ...rest } = await gateway.record('good');
  t.regex(String(id), /^[0-9a-f-]{36}$/);
  t.true(Number.isInteger(latency_ms) && Number(latency_ms) < 5000);
  t.true(Math.abs(Date.parse(String(created_at)) - Date.now()) < 60_000);
  t.deepEqual(rest, {
    tenant_id: DEFAULT_TENANT,
    user_id: 'static-token',
    action: 'GET /v1/models',
    detail: { svc_user_id: 'alice' },
    request_id: 'good',
    status_code: 200,
    session_id: null,
    source_ip: '127.0.0.1',
    user_agent: 'my-client/1.0',
    error_code: null,
    auth_method: 'static_token',
  });
});

test('refusals are recorded: 403, 404, 405, 400 and 429', async (t) => {
  const gateway = await start(t);
  const { request } = gateway;
  const tenant = (await request('/v1/tenants', { method: 'POST', body: { name: 'A', rate_limit_rpm: 4 } }))
    .body.id;
  const made = await request('/v1/api-keys', { method: 'POST', body: { name: 'k', tenant_id: tenant } });
  const { key: token, id: user_id } = made.body;
  await request('/v1/tenants', { token, headers: as('forbidden') });
  await request('/nowhere', { token, headers: as('nowhere') });
  await request('/v1/me', { token, method: 'DELETE', headers: as('wrong-method') });
  await request('/v1/chat/completions', { token, method: 'POST', body: {}, headers: as('invalid') });
  await request('/v1/me', { token, headers: as('too-many') });
  const expected: [string, number, string, string][] = [
    ['forbidden', 403, 'auth.forbidden', 'GET /v1/tenants'],
    ['nowhere', 404, 'path.not-found', 'GET /nowhere'],
    ['wrong-method', 405, 'path.method-not-allowed', 'DELETE /v1/me'],
    ['invalid', 400, 'request.invalid', 'POST /v1/chat/completions'],
    ['too-many', 429, 'limit.rate', 'GET /v1/me'],
  ];
  for (const [id, status_code, error_code, action] of expected) {
    t.like(await gateway.record(id), { status_code, error_code, action, tenant_id: tenant, user_id }, id);
  }
});

test('a failed authentication is recorded as AUTH_FAILED, with the tenant of the key where it is known', async (t) => {
  const gateway = await start(t);
  const { request } = gateway;
  const tenant = (await request('/v1/tenants', { method: 'POST', body: { name: 'Acme' } })).body.id;
  const body = { name: 'k', tenant_id: tenant };
  const { key, id } = (await request('/v1/api-keys', { method: 'POST', body })).body;
  await request(`/v1/api-keys/${id}`, { method: 'DELETE' });

  await request('/v1/me', { token: key, headers: as('revoked') });
  await request('/v1/me', { token: 'nonsense', headers: as('unknown') });

  const failed = { status_code: 401, error_code: 'AUTH_FAILED', action: 'GET /v1/me' };
  t.like(await gateway.record('revoked'), { ...failed, tenant_id: tenant, user_id: id });
  t.like(await gateway.record('unknown'), { ...failed, tenant_id: '', user_id: '' });
});

test('why a credential was refused is in its record and in the log, and not in the answer', async (t) => {
  const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const gateway = await start(t, {
    SVC_JWT_PUBLIC_KEY: issuer.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    SVC_JWT_ISSUER: 'https://idp.example/',
  });
  const { request } = gateway;
  const { key, id } = (await request('/v1/api-keys', { method: 'POST', body: { name: 'k' } })).body;
  await request(`/v1/api-keys/${id}`, { method: 'DELETE' });
  const jwt = (claims: object) => {
    const exp = Math.floor(Date.now() / 1000) + 60;
    const parts = [{ alg: 'RS256' }, { sub: 'alice', tenant_id: DEFAULT_TENANT, exp, ...claims }];
    const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(issuer.privateKey, 'base64url')}`;
  };
  const expected: [id: string, token: string, refused: object, told: string][] = [
    ['first', key, { credential: 'api_key', failure: 'revoked' }, 'revoked'],
    ['second', 'nonsense', { failure: 'unknown' }, 'unknown'],
    [
      'old',
      jwt({ iss: 'https://idp.example/', exp: 1 }),
      { credential: 'jwt', failure: 'expired' },
      'expired',
    ],
    [
      'fourth',
      jwt({ iss: 'https://idp.example' }),
      { credential: 'jwt', failure: 'invalid', reason: 'unexpected "iss" claim value' },
      'unexpected "iss" claim value',
    ],
  ];
  for (const [name, token, refused, told] of expected) {
    const { status, body } = await request('/v1/me', { token, headers: as(name) });
    t.deepEqual([status, body.code], [401, 'auth.invalid'], name);
    t.false(JSON.stringify(body).includes(told), name);
    t.deepEqual((await gateway.record(name)).detail, { refused }, name);
    const line = gateway.logs().find((text) => text.includes(`"requestId":"${name}"`));
    t.is(JSON.parse(line ?? '{}').refused, told, name);
  }
});

test('health checks and metrics leave no records, a caller without a credential only where nothing is', async (t) => {
  const gateway = await start(t);
  const { request } = gateway;
  for (const path of ['/health/live', '/health/ready', '/metrics', '/v1/me', '/admin/v1/bootstrap/status']) {
    await request(path, { token: null, headers: as(`anonymous${path.replaceAll('/', '-')}`) });
  }
  await request('/health/ready', { token: 'wrong', headers: as('wrong-health') });
  await request('/wp-login.php', { token: null, headers: as('scanner') });
  const ids = (await gateway.records()).map(({ request_id }) => String(request_id));
  t.true(ids.includes('scanner'));
  t.deepEqual(
    ids.filter((id) => id.startsWith('anonymous') || id === 'wrong-health'),
    [],
  );
});

test('of the query the secrets are left out, of the body everything but the names of its fields', async (t) => {
  const gateway = await start(t);
  await gateway.request('/v1/tenants?token=s3cret&limit=5&client_secret=s3cret&q=plain', {
    headers: as('query'),
  });
  await gateway.request('/v1/tenants', {
    method: 'POST',
    headers: as('body'),
    body: { name: 's3cret name', plan: 'pro', password: 's3cret' },
  });
  t.like(await gateway.record('query'), {
    action: 'GET /v1/tenants',
    detail: { query: { token: '[REDACTED]', limit: '5', client_secret: '[REDACTED]', q: 'plain' } },
  });
  const { changes, ...detail } = (await gateway.record('body')).detail as {
    changes: Record<string, unknown>;
  };
  t.deepEqual(detail, { body_fields: ['name', 'plan', 'password'] });
  t.is(changes.plan, 'pro');
  t.notRegex(JSON.stringify(await gateway.records()), /s3cret/);
});

test('a stream is recorded at its end, and a client that leaves it as 499', async (t) => {
  const provider = await startFakeProvider(stream(['a', 'b', 'c'], { delayMs: 20 }), endlessStream());
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await start(t, { LLM_API_URL: provider.url });
  const chat = (requestId: string, signal?: AbortSignal) =>
    open(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      token: gateway.token,
      headers: as(requestId),
      body: { model: 'default', stream: true, messages: [{ role: 'user', content: 's3cret' }] },
      ...(signal && { signal }),
    });
  t.true((await (await chat('whole')).text()).endsWith('data: [DONE]\n\n'));
  const leaving = new AbortController();
  const reader = (await chat('left', leaving.signal)).body!.getReader();
  await reader.read();
  leaving.abort();

  const whole = await gateway.record('whole');
  t.like(whole, { status_code: 200, error_code: null, action: 'POST /v1/chat/completions' });
  t.true(Number(whole.latency_ms) >= 50);
  t.like(await gateway.record('left'), { status_code: 499 });
  await until(() => provider.requests[1]!.isAborted);
  t.notRegex(JSON.stringify(await gateway.records()), /s3cret/);
});

test('a client that leaves in the middle of its body, or before the answer, is recorded as 499', async (t) => {
  const provider = await startFakeProvider(() => {});
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await start(t, { LLM_API_URL: provider.url });
  const head = (id: string, length: number) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n` +
    `X-Request-ID: ${id}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const half = await connect(gateway.url);
  half.write(`${head('half-a-body', 100)}{"model":`);
  const body = JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'hello' }] });
  const waiting = await connect(gateway.url);
  waiting.write(head('no-patience', body.length) + body);
  await until(() => provider.requests.length === 1);
  half.destroy();
  waiting.destroy();
  t.like(await gateway.record('half-a-body'), { status_code: 499 });
  t.like(await gateway.record('no-patience'), { status_code: 499, user_id: 'static-token' });
  await until(() => provider.requests[0]!.isAborted);
  t.notRegex(gateway.logs().join(''), /"level":"(error|fatal)"/);
});

test('a tenant sees its own records alone, the operator those of all', async (t) => {
  const gateway = await start(t);
  const { request } = gateway;
  const tenant = (await request('/v1/tenants', { method: 'POST', body: { name: 'Acme' } })).body.id;
  const body = { name: 'k', tenant_id: tenant, roles: ['auditor'] };
  const { key } = (await request('/v1/api-keys', { method: 'POST', body })).body;
  await request('/v1/me', { token: key, headers: as('theirs') });
  t.like(await gateway.record('theirs'), { tenant_id: tenant });
  const own = await request('/v1/audit-logs?limit=500', { token: key });
  t.true(own.body.total > 0);
  t.true(own.body.audit_logs.every((r: { tenant_id: string }) => r.tenant_id === tenant));
  const governed = await request('/admin/v1/audit-logs?limit=500', { token: key });
  t.true(governed.body.audit_logs.every((r: { tenant_id: string }) => r.tenant_id === tenant));
});
