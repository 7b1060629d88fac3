import test from 'ava';
import platform from '../../../plugins/platform/plugin.ts';
import { until } from '../../support/until.ts';
import { startRuntime } from './runtime-gateway.ts';

test('under /api/v1 the routes answer the same, and say that they are deprecated', async (t) => {
  const gateway = await startRuntime(t);
  for (const [path, status] of [
    ['agents', 200],
    ['conversations/unknown', 404],
    ['workflows/unknown', 503],
    ['me', 401],
  ] as const) {
    const token = status === 401 ? null : gateway.token;
    const [old, now] = [
      await gateway.request(`/api/v1/${path}`, { token }),
      await gateway.request(`/api/v2/${path}`, { token }),
    ];
    t.is(old.status, status);
    t.is(now.status, status);
    t.deepEqual({ ...old.body, instance: '' }, { ...now.body, instance: '' });
    t.is(old.headers.get('deprecation'), '@1767225600');
    t.is(old.headers.get('sunset'), 'Sat, 01 Jan 2028 00:00:00 GMT');
    t.is(old.headers.get('link'), '</api/v2>; rel="successor-version"');
    t.is(now.headers.get('deprecation'), null);
  }
  const { paths } = gateway.gateway.services.openapi();
  t.deepEqual(
    Object.keys(paths).filter((path) => path.startsWith('/api/v1')),
    [],
  );
});

test('ADMIN_API_KEY is an administrator of the default tenant on the routes of the runtime alone', async (t) => {
  const key = 'the-key-of-an-administrator';
  const gateway = await startRuntime(t, { env: { ADMIN_API_KEY: key } });
  const me = await gateway.request('/api/v2/me', { token: key });
  t.like(me.body, { id: 'admin-api-key', roles: ['admin'], auth_method: 'admin_api_key' });
  const shown = await gateway.request('/api/v2/me', { token: null, headers: { 'x-api-key': key } });
  // Caches that know nothing of this header would show it to others.
  t.deepEqual([shown.status, shown.headers.get('cache-control')], [200, 'no-store']);
  t.is((await gateway.request('/api/v2/me', { token: `${key}x` })).status, 401);
  t.is((await gateway.request('/api/v2/me', { token: null })).status, 401);
  t.is((await gateway.request('/admin/v1/plugins', { token: key })).status, 401);
  const create = (token: string) =>
    gateway.request('/v1/conversation/create', { method: 'POST', token, body: {} });
  t.is((await create(key)).status, 200);
  t.is((await create(`${key}x`)).status, 401);
  const history = (token: string) => gateway.request('/v1/workflows/any/run_histories/any', { token });
  t.not((await history(key)).status, 401);
  t.is((await history(`${key}x`)).status, 401);
  const tenant = await gateway.makeTenant();
  t.is((await gateway.request('/api/v2/me', { token: tenant.token })).body.tenant_id, tenant.id);
  t.true(gateway.logs().every((line) => !line.includes(key)));
});

test('an ADMIN_API_KEY that no request could present stops the start', async (t) => {
  for (const end of ['\n', ' ', '\u00a0', 'ł', '\x7f'])
    await t.throwsAsync(startRuntime(t, { env: { ADMIN_API_KEY: `the-key-of-an-administrator${end}` } }), {
      message: /ADMIN_API_KEY: holds a blank at an end, or a character that no header can carry/,
    });
});

test('an ADMIN_API_KEY of any characters that a header carries is valid', async (t) => {
  const key = 'the clé\tof an administrator';
  const { url } = await startRuntime(t, { env: { ADMIN_API_KEY: key } });
  for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }])
    t.is((await fetch(`${url}/api/v2/me`, { headers })).status, 200);
});

test('a wrong X-API-Key is refused and recorded, not served as a caller without a credential', async (t) => {
  const env = { ADMIN_API_KEY: 'the-key-of-an-administrator' };
  const gateway = await startRuntime(t, { plugins: [platform], env });
  const headers = { 'x-api-key': 'another-key-of-somebody' };
  t.is((await gateway.request('/api/v2/agents', { token: null })).status, 200);
  const refused = await gateway.request('/api/v2/agents', { token: null, headers });
  t.is(refused.status, 401);
  t.is(refused.body.code, 'auth.invalid');
  const { token } = gateway;
  t.is(
    (await gateway.request('/api/v2/agents', { token, headers })).status,
    200,
    'beside a bearer it is not read',
  );
  const ofFailures = async () => {
    const { body } = await gateway.request('/admin/v1/audit-logs?action=GET%20/api/v2/agents');
    return body.audit_logs.filter(({ error_code }: { error_code: string }) => error_code === 'AUTH_FAILED');
  };
  await until(async () => (await ofFailures()).length === 1);
});
