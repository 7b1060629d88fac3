import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { DEFAULT_TENANT } from '../platform-gateway.ts';
import { startEgressGateway } from './egress-gateway.ts';

const RULES = '/admin/v1/egress/rules';
const NOBODY = '01900000-0000-7000-8000-000000000000';

eachGatewayDatabase(test, 'a rule is made, listed, and deleted', async (t, { environment }) => {
  const { request, egress } = await startEgressGateway(t, { env: environment });
  const body = { host_pattern: '*.Example.com:8443', path_prefix: '/v1', action: 'deny', priority: 10 };
  const made = await request(RULES, { method: 'POST', body });
  t.is(made.status, 201);
  const { id, created_at, ...rule } = made.body;
  t.deepEqual(rule, { ...body, host_pattern: '*.example.com:8443', tenant_id: DEFAULT_TENANT });
  t.regex(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const defaults = await request(RULES, { method: 'POST', body: { host_pattern: '*', action: 'allow' } });
  t.like(defaults.body, { path_prefix: '/', priority: 0 });
  const list = await request(RULES);
  t.deepEqual(list.body, { rules: [defaults.body, made.body], total: 2, limit: 50, offset: 0 });
  t.like((await request(`${RULES}?limit=1&offset=1`)).body, {
    rules: [{ id }],
    total: 2,
    limit: 1,
    offset: 1,
  });
  t.is((await request(`${RULES}?limit=9999`)).body.limit, 500);

  const url = 'https://a.example.com:8443/v1/x';
  await t.throwsAsync(egress.check(DEFAULT_TENANT, url), { code: 'egress.denied' });
  t.is((await request(`${RULES}/${id}`, { method: 'DELETE' })).status, 204);
  const again = await request(`${RULES}/${id}`, { method: 'DELETE' });
  t.deepEqual([again.status, again.body.code], [404, 'egress.rule-not-found']);
  t.is((await request(RULES)).body.total, 1);
});

test('what is wrong with a rule is told by field', async (t) => {
  const { request } = await startEgressGateway(t);
  const pointers = async (body: object) => {
    const response = await request(RULES, { method: 'POST', body });
    t.is(response.status, 400, JSON.stringify(body));
    return response.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  };
  t.deepEqual(await pointers({}), ['/body/action', '/body/host_pattern']);
  t.deepEqual(await pointers({ host_pattern: 'a.example', action: 'allow', path_prefx: '/v1' }), [
    '/body/path_prefx',
  ]);
  t.deepEqual(await pointers({ host_pattern: 'http://a', action: 'deny', path_prefix: 'v1' }), [
    '/body/host_pattern',
    '/body/path_prefix',
  ]);
  t.deepEqual(
    await pointers({ host_pattern: 'http://a', action: 'maybe', path_prefix: 'v1', priority: 0.5 }),
    ['/body/action', '/body/host_pattern', '/body/path_prefix', '/body/priority'],
  );
  t.deepEqual(await pointers({ host_pattern: 5, path_prefix: {}, action: 'deny' }), [
    '/body/host_pattern',
    '/body/path_prefix',
  ]);
  t.deepEqual(await pointers({ host_pattern: '*', action: 'maybe', priority: 0.5 }), [
    '/body/action',
    '/body/priority',
  ]);
  t.deepEqual(await pointers({ host_pattern: '*', action: 'deny', priority: 1_000_001 }), ['/body/priority']);
  t.is((await request(RULES)).body.total, 0);
});

test('operators make and see rules of all tenants; everybody else his own', async (t) => {
  const gateway = await startEgressGateway(t);
  const { request } = gateway;
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  const body = { host_pattern: '*', action: 'deny' };
  const make = (tenant_id: string | undefined, token?: string) =>
    request(RULES, {
      method: 'POST',
      body: { ...body, ...(tenant_id && { tenant_id }) },
      ...(token && { token }),
    });
  const seen = async (query: string, token?: string) => {
    const response = await request(`${RULES}${query}`, token === undefined ? {} : { token });
    t.is(response.status, 200);
    return response.body.rules.map(({ tenant_id }: { tenant_id: string }) => tenant_id).toSorted();
  };
  const { body: foreignRule } = await make(foreign);
  t.is(foreignRule.tenant_id, foreign);
  t.is((await make(undefined)).body.tenant_id, DEFAULT_TENANT);
  for (const [tenant, status] of [
    [NOBODY, 404],
    ['x', 404],
  ] as const)
    t.is((await make(tenant)).status, status);

  const security = await gateway.key({ tenant_id: own, roles: ['security'] });
  t.is((await make(undefined, security)).body.tenant_id, own);
  t.is((await make(own, security)).status, 201);
  const refused = await make(foreign, security);
  t.deepEqual([refused.status, refused.body.code], [403, 'egress.foreign-tenant']);
  t.is((await make(NOBODY, security)).status, 403, 'whether it exists is not told');
  t.deepEqual(await seen('', security), [own, own]);
  t.deepEqual(await seen(`?tenant_id=${own}`, security), [own, own]);
  t.deepEqual(await seen(`?tenant_id=${foreign}`, security), []);
  t.is((await request(`${RULES}/${foreignRule.id}`, { method: 'DELETE', token: security })).status, 404);
  t.is((await request(`${RULES}/x`, { method: 'DELETE', token: security })).status, 404);

  t.deepEqual(await seen(''), [DEFAULT_TENANT, own, own, foreign].toSorted());
  t.deepEqual(await seen(`?tenant_id=${foreign}`), [foreign]);
  t.deepEqual(await seen('?tenant_id=x'), []);
  const operator = await gateway.key({ roles: ['security'] });
  t.is((await request(`${RULES}/${foreignRule.id}`, { method: 'DELETE', token: operator })).status, 204);
});

test('scopes decide who may read and who may write', async (t) => {
  const gateway = await startEgressGateway(t);
  const tenant = await gateway.tenant();
  const cases: readonly (readonly [object, number, number])[] = [
    [{ roles: ['security'] }, 200, 201],
    [{ roles: ['owner'] }, 200, 201],
    [{ roles: ['admin'], scopes: ['admin'] }, 200, 201],
    [{ roles: ['user'], scopes: ['security:read'] }, 200, 403],
    [{ roles: ['user'], scopes: ['security:write'] }, 403, 201],
    [{ roles: ['admin'] }, 403, 403],
    [{ roles: ['auditor', 'tenant', 'platform', 'ops', 'billing'] }, 403, 403],
    [{ roles: ['user'] }, 403, 403],
  ];
  for (const [settings, read, write] of cases) {
    const token = await gateway.key({ ...settings, tenant_id: tenant });
    t.is((await gateway.request(RULES, { token })).status, read, JSON.stringify(settings));
    const body = { host_pattern: 'a.example', action: 'deny' };
    t.is(
      (await gateway.request(RULES, { method: 'POST', body, token })).status,
      write,
      JSON.stringify(settings),
    );
    const removed = await gateway.request(`${RULES}/${NOBODY}`, { method: 'DELETE', token });
    t.is(removed.status, write === 201 ? 404 : 403, JSON.stringify(settings));
  }
  for (const method of ['GET', 'POST'])
    t.is((await gateway.request(RULES, { method, token: null })).status, 401);
});
