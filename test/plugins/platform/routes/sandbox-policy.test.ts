import test from 'ava';
import { DEFAULT_SANDBOX_POLICY } from '../../../../plugins/agent-engine/contract.ts';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase, gatewayDatabase } from '../../../support/databases.ts';
import { shared } from '../../../support/shared.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_TENANT } from '../platform-gateway.ts';
import { startEngineGateway } from './engine-gateway.ts';

const NOBODY = '01900000-0000-7000-8000-000000000000';
const pathOf = (tenant: string) => `/admin/v1/tenants/${tenant}/sandbox-policy`;
const USE = {
  model: 'm',
  provider: 'openai',
  providerModel: 'm',
  isEstimated: false,
  inputTokens: 1000,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};
const DEFAULTS = {
  enabled: true,
  max_timeout_seconds: 30,
  allowed_tools: null,
  allow_docker: true,
  restrict_network: true,
  max_output_kb: 256,
};

const engine = shared((file) => startEngineGateway(file));

eachGatewayDatabase(
  test,
  'a tenant has the default policy, its own, and the default again',
  async (t, { environment }) => {
    const gateway = await startEngineGateway(t, { env: environment });
    const tenant = await gateway.tenant();
    const path = pathOf(tenant);
    const told = (sandbox_policy: object, using_default: boolean) => ({
      tenant_id: tenant,
      sandbox_policy,
      using_default,
    });
    t.deepEqual((await gateway.request(path)).body, told(DEFAULTS, true));
    t.is(await gateway.policies.of(tenant), DEFAULT_SANDBOX_POLICY);

    const own = { ...DEFAULTS, enabled: false, allowed_tools: ['calculator'], max_output_kb: 10_240 };
    const posted = await gateway.request(path, { method: 'POST', body: own });
    t.is(posted.status, 200);
    t.deepEqual(posted.body, told(own, false));
    t.deepEqual((await gateway.request(path)).body, told(own, false));
    t.like(await gateway.policies.of(tenant), { enabled: false, allowedTools: ['calculator'] }, 'at once');

    const partial = await gateway.request(path, { method: 'POST', body: { allow_docker: false } });
    t.deepEqual(partial.body, told({ ...own, allow_docker: false }, false), 'the rest is kept');
    t.like(await gateway.policies.of(tenant), { enabled: false, allowDocker: false }, 'at once');

    t.is((await gateway.request(path, { method: 'DELETE' })).status, 204);
    t.deepEqual((await gateway.request(path)).body, told(DEFAULTS, true));
    t.is(await gateway.policies.of(tenant), DEFAULT_SANDBOX_POLICY);
    const again = await gateway.request(path, { method: 'DELETE' });
    t.deepEqual([again.status, again.body.code], [404, 'sandbox-policy.not-found']);
  },
);

test('everything that is wrong with a policy is told by field', async (t) => {
  const gateway = await engine();
  const path = pathOf(DEFAULT_TENANT);
  const pointers = async (body: unknown) => {
    const response = await gateway.request(path, { method: 'POST', body });
    t.is(response.status, 400, JSON.stringify(body));
    return response.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  };
  t.deepEqual(await pointers({ enabled: 'yes', max_timeout_seconds: 0, max_output_kb: 10_241 }), [
    '/body/enabled',
    '/body/max_output_kb',
    '/body/max_timeout_seconds',
  ]);
  t.deepEqual(await pointers({ max_timeout_seconds: 3601, max_output_kb: 1.5, allow_docker: null }), [
    '/body/allow_docker',
    '/body/max_output_kb',
    '/body/max_timeout_seconds',
  ]);
  t.deepEqual(await pointers({ allowed_tools: 'all' }), ['/body/allowed_tools']);
  t.deepEqual(await pointers({ allowed_tools: ['ok', 'builtin/calculator'] }), ['/body/allowed_tools/1']);
  t.deepEqual(await pointers({ allowed_tools: ['a', 'a'] }), ['/body/allowed_tools']);
  const many = Array.from({ length: 501 }, (_, index) => `t${index}`);
  t.deepEqual(await pointers({ allowed_tools: many }), ['/body/allowed_tools']);
  t.deepEqual(await pointers({ allowed_tool: [] }), ['/body/allowed_tool'], 'a misspelt restriction');
  t.deepEqual(await pointers(undefined), ['/body']);
  t.true((await gateway.request(path)).body.using_default);
});

test('operators reach all tenants, everybody else his own', async (t) => {
  const gateway = await engine();
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  const { token } = await gateway.key({ tenant_id: own, roles: ['tenant'] });
  for (const [method, ownStatus] of [
    ['GET', 200],
    ['POST', 200],
    ['DELETE', 204],
  ] as const) {
    const send = (tenant: string, by?: string) =>
      gateway.request(pathOf(tenant), {
        method,
        ...(method === 'POST' && { body: {} }),
        ...(by && { token: by }),
      });
    for (const [tenant, by] of [
      [foreign, token],
      [NOBODY, token],
      [NOBODY, undefined],
      ['x', undefined],
    ] as const) {
      const { status, body } = await send(tenant, by);
      t.deepEqual([status, body.code], [404, 'tenant.not-found'], `${method} ${tenant}`);
    }
    t.is((await send(own, token)).status, ownStatus, method);
  }
  const { token: operator } = await gateway.key({ roles: ['ops'] });
  t.is((await gateway.request(pathOf(foreign), { token: operator })).status, 200);
});

test('the policy of a deleted tenant is shown, and not changed any more', async (t) => {
  const gateway = await engine();
  const tenant = await gateway.tenant();
  const path = pathOf(tenant);
  t.is((await gateway.request(path, { method: 'POST', body: { enabled: false } })).status, 200);
  await gateway.gateway.services.tenants.scheduleDelete(tenant, new Date());
  for (const [method, body] of [
    ['POST', {}],
    ['DELETE', undefined],
  ] as const) {
    const answer = await gateway.request(path, { method, ...(body && { body }) });
    t.deepEqual([answer.status, answer.body.code], [409, 'tenant.deleted'], method);
  }
  t.is((await gateway.request(path)).body.sandbox_policy.enabled, false);
});

test('scopes decide who may read and who may write', async (t) => {
  const gateway = await engine();
  const tenant_id = await gateway.tenant();
  const cases: readonly (readonly [object, number, number])[] = [
    [{ roles: ['ops'] }, 200, 200],
    [{ roles: ['tenant'] }, 200, 200],
    [{ roles: ['platform'] }, 200, 200],
    [{ roles: ['owner'] }, 200, 200],
    [{ roles: ['user'], scopes: ['ops:read'] }, 200, 403],
    [{ roles: ['user'], scopes: ['tenant:write'] }, 403, 200],
    [{ roles: ['admin'] }, 403, 403],
    [{ roles: ['security', 'billing', 'auditor'] }, 403, 403],
  ];
  for (const [settings, read, write] of cases) {
    const { token } = await gateway.key({ ...settings, tenant_id });
    const label = JSON.stringify(settings);
    t.is((await gateway.request(pathOf(tenant_id), { token })).status, read, label);
    const post = await gateway.request(pathOf(tenant_id), { method: 'POST', body: {}, token });
    t.is(post.status, write, label);
  }
  t.is((await gateway.request(pathOf(tenant_id), { token: null })).status, 401);
});

test('another replica hears of a change, however long its own copy could be used', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  // Time stands still: nothing ages.
  const options = { env: fresh.environment, clock: manualClock() };
  const [here, there] = [await startEngineGateway(t, options), await startEngineGateway(t, options)];
  t.is(await there.policies.of(DEFAULT_TENANT), DEFAULT_SANDBOX_POLICY);
  t.is((await there.metering.price([USE]))[0]?.costUsd, '0');
  await here.request(pathOf(DEFAULT_TENANT), { method: 'POST', body: { enabled: false } });
  await here.request('/admin/v1/pricing-rules/m', {
    method: 'PUT',
    body: { input_per_1k: 1, output_per_1k: 1 },
  });
  await until(async () => !(await there.policies.of(DEFAULT_TENANT)).enabled);
  await until(async () => (await there.metering.price([USE]))[0]?.costUsd === '1');
  t.pass();
});
