import test from 'ava';
import { ROLES } from '../../../../kernel/access/roles.ts';
import { DEFAULT_TENANT, startPlatform } from '../platform-gateway.ts';

test('the static token is an administrator of the default tenant', async (t) => {
  const { request } = await startPlatform(t);
  const { status, body } = await request('/v1/me');
  t.is(status, 200);
  t.is(body.identity, 'static-token');
  t.is(body.tenant_id, DEFAULT_TENANT);
  t.deepEqual(body.roles, ['admin']);
  t.is(body.auth_method, 'static_token');
  t.true(body.scopes.includes('admin'));
});

test('whatever its role, a key may ask who it is and read the description of the API', async (t) => {
  const gateway = await startPlatform(t);
  const tenant = await gateway.tenant();
  for (const role of ROLES) {
    const { id, key } = await gateway.key({ tenant_id: tenant, roles: [role], scopes: ['write'] });
    const me = await gateway.request('/v1/me', { token: key });
    t.is(me.status, 200, role);
    t.is(me.body.identity, id);
    t.is(me.body.tenant_id, tenant);
    t.deepEqual(me.body.roles, [role]);
    t.is((await gateway.request('/v1/openapi', { token: key })).status, 200, role);
  }
});

test('without a credential both are refused', async (t) => {
  const { request } = await startPlatform(t);
  for (const path of ['/v1/me', '/v1/openapi']) {
    const { status, headers } = await request(path, { token: null });
    t.is(status, 401, path);
    t.truthy(headers.get('www-authenticate'));
  }
});

test('the description lists the routes of this plugin with their access', async (t) => {
  const { request } = await startPlatform(t);
  const { body } = await request('/v1/openapi');
  t.regex(body.openapi, /^3\.0\./);
  const operations = Object.entries<Record<string, unknown>>(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const expected = [
    'GET /admin/v1/bootstrap/status',
    'POST /admin/v1/bootstrap',
    'GET /v1/me',
    'GET /v1/openapi',
    'GET /v1/tenants',
    'POST /v1/tenants',
    'GET /v1/tenants/{id}',
    'PUT /v1/tenants/{id}',
    'DELETE /v1/tenants/{id}',
    'POST /v1/tenants/{id}/restore',
    'GET /v1/api-keys',
    'POST /v1/api-keys',
    'DELETE /v1/api-keys/{id}',
    'GET /admin/v1/tenants/{id}/api-keys',
    'POST /admin/v1/tenants/{id}/api-keys',
    'POST /admin/v1/tenants/{id}/api-keys/{kid}/rotate',
    'DELETE /admin/v1/tenants/{id}/api-keys/{kid}',
    'GET /v1/audit-logs',
    'GET /admin/v1/audit-logs',
    'GET /v1/models',
    'GET /v1/models/{id}',
    'POST /v1/chat/completions',
  ];
  t.deepEqual(
    expected.filter((operation) => !operations.includes(operation)),
    [],
  );
});
