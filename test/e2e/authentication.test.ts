import { createSign, generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { access } from '../../kernel/api/access.ts';
import { route } from '../../kernel/api/route.ts';
import agentEngine from '../../plugins/agent-engine/plugin.ts';
import platform from '../../plugins/platform/plugin.ts';
import records from '../../plugins/records/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../testing/index.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { testPlugin } from '../support/plugins.ts';
import { type Lifetime, shared } from '../support/shared.ts';
import { until } from '../support/until.ts';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
const CHAT = { model: 'default', messages: [{ role: 'user', content: 'hello' }] };

const withPlatform = shared((file) => startPlatform(file));

async function start(t: Lifetime, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  t.teardown(gateway.stop);
  return gateway;
}

/** Makes a key as the operator; also one of another tenant. */
async function makeKey({ request }: TestGateway, settings: object = {}): Promise<string> {
  const { body } = await request('/v1/api-keys', { method: 'POST', body: { name: 'k', ...settings } });
  return body.key;
}

async function makeTenant({ request }: TestGateway): Promise<string> {
  return (await request('/v1/tenants', { method: 'POST', body: { name: 'Acme' } })).body.id;
}

test('the static token is an administrator of the default tenant', async (t) => {
  const gateway = await withPlatform();
  t.like((await gateway.request('/v1/me')).body, {
    tenant_id: DEFAULT_TENANT,
    roles: ['admin'],
    auth_method: 'static_token',
  });
  for (const wrong of [`${gateway.token}x`, gateway.token.slice(1), gateway.token.toUpperCase(), '']) {
    t.is((await gateway.request('/v1/me', { token: wrong })).status, 401);
  }
});

test('a wrong credential and none are 401 with a challenge, in the dialect of the route', async (t) => {
  const gateway = await withPlatform();
  const none = await gateway.request('/v1/me', { token: null });
  t.is(none.headers.get('www-authenticate'), 'Bearer');
  t.like(none.body, { status: 401, code: 'auth.required' });
  const wrong = await gateway.request('/v1/me', { token: `hk_${'x'.repeat(43)}` });
  t.is(wrong.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  t.like(wrong.body, { status: 401, code: 'auth.invalid' });
  const chat = { method: 'POST', token: null, body: CHAT };
  const inDialect = await gateway.request('/v1/chat/completions', chat);
  t.is(inDialect.status, 401);
  t.is(inDialect.body.error.type, 'authentication_error');
});

/** What the credentials of a role and of scopes may do: the statuses of some routes. */
const MATRIX: readonly [string, object, Record<string, number>][] = [
  ['a user', { roles: ['user'] }, { me: 200, chat: 200, tenants: 403, audit: 403, governance: 403 }],
  ['a user who may only read', { scopes: ['read'] }, { me: 200, chat: 403, models: 200, tenants: 403 }],
  ['a user who may only execute', { scopes: ['execute'] }, { me: 200, chat: 200, tenants: 403 }],
  ['an auditor', { roles: ['auditor'] }, { me: 200, audit: 200, governance: 200, tenants: 403, chat: 403 }],
  [
    'an administrator',
    { roles: ['admin'] },
    { me: 200, tenants: 200, audit: 200, chat: 200, governance: 403 },
  ],
  [
    'an administrator with the admin scope',
    { roles: ['admin'], scopes: ['read', 'write', 'execute', 'admin'] },
    { tenants: 200, governance: 200, plugins: 200 },
  ],
  [
    'an administrator who may only read',
    { roles: ['admin'], scopes: ['read'] },
    { tenants: 200, create: 403 },
  ],
  ['security', { roles: ['security'] }, { governance: 200, tenants: 403, plugins: 403 }],
  ['ops', { roles: ['ops'] }, { plugins: 200, governance: 403 }],
];
const REQUESTS: Record<string, [string, object?]> = {
  me: ['/v1/me'],
  models: ['/v1/models'],
  tenants: ['/v1/tenants'],
  create: ['/v1/tenants', { method: 'POST', body: { name: 'x' } }],
  audit: ['/v1/audit-logs'],
  governance: ['/admin/v1/audit-logs'],
  plugins: ['/admin/v1/plugins'],
  chat: ['/v1/chat/completions', { method: 'POST', body: CHAT }],
};

for (const [who, settings, expected] of MATRIX) {
  test(`${who} may do what the role and the scopes say`, async (t) => {
    const gateway = await withPlatform();
    const token = await makeKey(gateway, settings);
    const seen: Record<string, number> = {};
    for (const name of Object.keys(expected)) {
      const [path, request] = REQUESTS[name]!;
      seen[name] = (await gateway.request(path, { ...request, token })).status;
    }
    t.deepEqual(seen, expected);
  });
}

test('a key works until the moment that it expires', async (t) => {
  const gateway = await withPlatform();
  const plenty = { name: 'Acme', rate_limit_rpm: 100_000 };
  const tenant = (await gateway.request('/v1/tenants', { method: 'POST', body: plenty })).body.id;
  const expiresAt = Date.now() + 5000;
  const expires_at = new Date(expiresAt).toISOString();
  const token = await makeKey(gateway, { tenant_id: tenant, expires_at });
  const status = async () => (await gateway.request('/v1/me', { token })).status;
  t.is(await status(), 200);
  await until(async () => (await status()) === 401);
  t.true(Date.now() >= expiresAt);
  t.is(await status(), 401);
  const past = { name: 'k', expires_at: new Date(Date.now() - 1000).toISOString() };
  t.is((await gateway.request('/v1/api-keys', { method: 'POST', body: past })).status, 400);
});

test('the keys of a deleted tenant fail, and work again when the tenant is restored', async (t) => {
  const gateway = await withPlatform();
  const tenant = await makeTenant(gateway);
  const token = await makeKey(gateway, { tenant_id: tenant });
  t.like((await gateway.request('/v1/me', { token })).body, { tenant_id: tenant, auth_method: 'api_key' });
  t.is((await gateway.request(`/v1/tenants/${tenant}`, { method: 'DELETE' })).status, 202);
  t.is((await gateway.request('/v1/me', { token })).status, 401);
  await gateway.request(`/v1/tenants/${tenant}/restore`, { method: 'POST' });
  t.is((await gateway.request('/v1/me', { token })).status, 200);
});

const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = issuer.publicKey.export({ type: 'spki', format: 'pem' }).toString();

/** A compact JWS, made by hand. */
function jwt(claims: object, { header = { alg: 'RS256' }, key = issuer.privateKey } = {}): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${createSign('RSA-SHA256').update(input).sign(key, 'base64url')}`;
}

test('with SVC_JWT_PUBLIC_KEY a signed token is its subject in a live tenant, and nothing else is', async (t) => {
  const gateway = await startPlatform(t, { env: { SVC_JWT_PUBLIC_KEY: PEM.replaceAll('\n', '\\n') } });
  const tenant = await makeTenant(gateway);
  const exp = Math.floor(Date.now() / 1000) + 60;
  const claims = { sub: 'alice', tenant_id: tenant, roles: ['user'], exp };
  const me = (token: string) => gateway.request('/v1/me', { token });
  t.like((await me(jwt(claims))).body, { identity: 'alice', tenant_id: tenant, auth_method: 'jwt' });
  t.is((await gateway.request('/v1/tenants', { token: jwt(claims) })).status, 403);
  const refused = [
    jwt({ ...claims, exp: exp - 3600 }),
    jwt({ ...claims, tenant_id: '0198c0de-0000-7000-8000-000000000001' }),
    jwt({ ...claims, sub: undefined }),
    jwt(claims, { key: stranger.privateKey }),
    jwt(claims, { header: { alg: 'none' } }),
    `${jwt(claims)}x`,
  ];
  for (const token of refused) t.is((await me(token)).status, 401);
  await gateway.request(`/v1/tenants/${tenant}`, { method: 'DELETE' });
  t.is((await me(jwt(claims))).status, 401);
  const without = await withPlatform();
  t.is(
    (await without.request('/v1/me', { token: jwt({ ...claims, tenant_id: DEFAULT_TENANT }) })).status,
    401,
  );
});

test('while the keys of the issuer cannot be read, a token is told so, and when to come again', async (t) => {
  const { request } = await startPlatform(t, { env: { SVC_JWT_JWKS_URL: 'http://127.0.0.1:1/jwks' } });
  const exp = Math.floor(Date.now() / 1000) + 60;
  const token = jwt({ sub: 'alice', tenant_id: DEFAULT_TENANT, exp });
  const { status, headers, body } = await request('/v1/me', { token });
  t.deepEqual([status, body.code, headers.get('retry-after')], [503, 'auth.unavailable', '5']);
  t.is((await request('/v1/me')).status, 200, 'other credentials are not concerned');
});

/** A plugin with a route that needs no credential in protected mode. */
const open = testPlugin('open', {
  setup: (scope) =>
    scope.route(
      route({
        method: 'GET',
        path: '/open',
        access: access.open(),
        summary: 'Say who is asking',
        handle: ({ identity, tenant }) => ({ method: identity.method, tenant: tenant.id }),
      }),
      route({
        method: 'GET',
        path: '/admin-only',
        access: access.role('admin'),
        summary: 'No',
        handle: () => 1,
      }),
    ),
});

test('protected mode serves callers on this machine without a credential, and nobody behind a proxy', async (t) => {
  const { request, token } = await start(t, { plugins: [open] });
  const anonymous = await request('/open', { token: null });
  t.deepEqual(anonymous.body, { method: 'anonymous', tenant: DEFAULT_TENANT });
  for (const name of ['x-forwarded-for', 'forwarded']) {
    const headers = { [name]: name === 'forwarded' ? 'for=192.0.2.1' : '127.0.0.1' };
    t.is((await request('/open', { token: null, headers })).status, 401);
    t.is((await request('/open', { token, headers })).status, 200);
  }
  t.is(
    (await request('/open', { token: 'wrong' })).status,
    401,
    'a wrong credential is not the same as none',
  );
  t.is((await request('/admin-only', { token: null })).status, 401);
});

test('SVC_ALLOW_ANONYMOUS=true opens such routes to everybody, false to nobody', async (t) => {
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  const opened = await start(t, { plugins: [open], env: { SVC_ALLOW_ANONYMOUS: 'true' } });
  t.is((await opened.request('/open', { token: null, headers })).status, 200);
  t.is((await opened.request('/admin-only', { token: null })).status, 401);
  const closed = await start(t, { plugins: [open], env: { SVC_ALLOW_ANONYMOUS: 'false' } });
  t.is((await closed.request('/open', { token: null })).status, 401);
  t.is((await closed.request('/open')).status, 200);
});

test('a plugin’s own kind of credential comes and goes with the plugin', async (t) => {
  const badge = testPlugin('badge', {
    setup: (scope) =>
      scope.authenticate({
        name: 'badge',
        authenticate: (credentials) => {
          const value = credentials.header('x-badge');
          if (value === undefined) return undefined;
          if (value !== 'gold') return { failure: 'invalid', tenantId: DEFAULT_TENANT, identityId: value };
          const scopes = new Set(['read']);
          return {
            identity: { id: value, tenantId: DEFAULT_TENANT, roles: ['user'], scopes, method: 'badge' },
          };
        },
      }),
  });
  const { request } = await start(t, { plugins: [records, agentEngine, platform, badge] });
  const me = (value: string) => request('/v1/me', { token: null, headers: { 'x-badge': value } });
  t.like((await me('gold')).body, { identity: 'gold', auth_method: 'badge' });
  t.is((await me('tin')).status, 401);
  t.is((await request('/v1/me', { token: 'wrong', headers: { 'x-badge': 'gold' } })).status, 200);

  await request('/admin/v1/plugins/badge/disable', { method: 'POST' });
  t.is((await me('gold')).status, 401);

  await request('/admin/v1/plugins/badge/enable', { method: 'POST' });
  t.is((await me('gold')).status, 200);
  await request('/admin/v1/plugins/badge/reload', { method: 'POST' });
  t.is((await me('gold')).status, 200);
  await until(async () => {
    const { body } = await request('/v1/audit-logs');
    return body.audit_logs.some(
      (record: Record<string, unknown>) =>
        record.error_code === 'AUTH_FAILED' &&
        record.user_id === 'tin' &&
        record.tenant_id === DEFAULT_TENANT,
    );
  });
});
