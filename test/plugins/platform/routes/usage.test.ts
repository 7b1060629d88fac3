import test from 'ava';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { Tenant } from '../../../../foundation/tables/tenant.ts';
import type { ModelUse } from '../../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../../plugins/agent-engine/plugin.ts';
import platform from '../../../../plugins/platform/plugin.ts';
import records from '../../../../plugins/records/plugin.ts';
import { manualClock, startTestGateway } from '../../../../testing/index.ts';
import { eachGatewayDatabase, gatewayDatabase } from '../../../support/databases.ts';
import { DEFAULT_TENANT } from '../platform-gateway.ts';
import { type EngineGateway, startEngineGateway } from './engine-gateway.ts';

const OWN = '/v1/usage';
const DETAILS = '/v1/usage/details';
const ALL = '/admin/v1/usage';
const TENANTS = '/admin/v1/usage/tenants';
const DAY = 24 * 60 * 60 * 1000;
const USE: ModelUse = {
  model: 'fast',
  provider: 'openai',
  providerModel: 'gpt-x',
  isEstimated: false,
  inputTokens: 1000,
  outputTokens: 500,
  cacheReadTokens: 200,
  cacheWriteTokens: 0,
};

/** Prices `gpt-x` and writes one call. */
async function spend(
  gateway: EngineGateway,
  tenantId: string,
  {
    identityId = 'key',
    userId = 'ben',
    sessionId = 's1',
    use = USE,
  }: { identityId?: string; userId?: string; sessionId?: string; use?: ModelUse } = {},
) {
  await gateway.request('/admin/v1/pricing-rules/gpt-x', {
    method: 'PUT',
    body: { input_per_1k: 0.1, output_per_1k: 0.2 },
  });
  const owner = { principal: { tenantId, identityId, userId }, sessionId, source: 'agent' } as const;
  const priced = await gateway.metering.price([use]);
  await gateway.metering.record(gateway.gateway.services.database.forTenant(tenantId), owner, priced);
}

const TOTALS = { input_tokens: 1000, output_tokens: 500, total_tokens: 1500, cost_usd: 0.2, requests: 1 };
const LINE = { ...TOTALS, cache_read_tokens: 200, cache_write_tokens: 0, estimated_requests: 0 };

eachGatewayDatabase(test, 'a tenant sees its usage by day and by month', async (t, { environment }) => {
  const clock = manualClock(Date.UTC(2026, 2, 31, 12));
  const gateway = await startEngineGateway(t, { env: environment, clock });
  const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
  await spend(gateway, own);
  clock.advance(DAY);
  await spend(gateway, own, { use: { ...USE, isEstimated: true } });
  await spend(gateway, own);
  await spend(gateway, foreign);
  const { token } = await gateway.key({ tenant_id: own });
  const { status, body } = await gateway.request(OWN, { token });
  t.is(status, 200);
  const second = { ...LINE, input_tokens: 2000, output_tokens: 1000, total_tokens: 3000 };
  t.deepEqual(body, {
    tenant_id: own,
    granularity: 'day',
    period: { from: '2026-03-02T00:00:00.000Z', to: '2026-04-01T12:00:00.000Z' },
    data: [
      { date: '2026-03-31', ...LINE },
      {
        date: '2026-04-01',
        ...second,
        cost_usd: 0.4,
        requests: 2,
        cache_read_tokens: 400,
        estimated_requests: 1,
      },
    ],
  });
  const months = await gateway.request(`${OWN}?granularity=month&from=2026-01-01&to=2026-12-31`, { token });
  t.like(months.body, {
    granularity: 'month',
    period: { from: '2026-01-01T00:00:00.000Z', to: '2026-12-31T23:59:59.999Z' },
    data: [
      { date: '2026-03', requests: 1 },
      { date: '2026-04', requests: 2, cost_usd: 0.4 },
    ],
  });
  const one = await gateway.request(`${OWN}?from=2026-03-31T12:00:00Z&to=2026-03-31T14:00:00+02:00`, {
    token,
  });
  t.is(one.body.data.length, 1, 'moments, with an offset that was not percent-encoded');
  t.deepEqual((await gateway.request(`${OWN}?to=2026-03-30`, { token })).body.data, []);
  t.deepEqual((await gateway.request(`${OWN}?from=2027-01-01`, { token })).body.data, []);
  t.is((await gateway.request(`${OWN}?from=0000-01-01&to=9999-12-31`, { token })).body.data.length, 2);
});

eachGatewayDatabase(test, 'costs are numbers of as many digits as they have', async (t, { environment }) => {
  const gateway = await startEngineGateway(t, { env: environment });
  const tenant = await gateway.tenant();
  const { token } = await gateway.key({ tenant_id: tenant, roles: ['user', 'admin', 'billing'] });
  for (const [model, input_per_1k] of [
    ['huge', 1_000_000],
    ['tiny', 0.000000001],
  ] as const) {
    const body = { input_per_1k, output_per_1k: 0 };
    const rule = await gateway.request(`/admin/v1/pricing-rules/${model}`, { method: 'PUT', body });
    t.is(rule.body.input_per_1k, input_per_1k);
  }
  const none = { outputTokens: 0, cacheReadTokens: 0 };
  await spend(gateway, tenant, { use: { ...USE, ...none, providerModel: 'huge', inputTokens: 1_000_000 } });
  await spend(gateway, tenant, { use: { ...USE, ...none, providerModel: 'tiny', inputTokens: 49_951 } });
  const text = async (path: string) => {
    const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    return answer.text();
  };
  // Twenty-two digits: a binary number has sixteen.
  const expected = '"cost_usd":1000000000.000000049951,';
  for (const path of [OWN, `${OWN}?granularity=month`, ALL, TENANTS]) {
    const body = await text(path);
    t.true(body.replace(/}/g, ',').includes(expected), `${path}: ${body}`);
  }
  const details = await text(`${DETAILS}?session_id=s1`);
  t.true(details.includes('"cost_usd":0.000000049951,'), details);
  t.true(details.includes('"cost_usd":1000000000,'), details);
});

test('periods and granularities that are none are told by field', async (t) => {
  const gateway = await startEngineGateway(t);
  const cases: readonly [string, readonly string[]][] = [
    ['from=yesterday&to=2026-02-30', ['from', 'to']],
    ['from=2026-02-02&to=2026-02-01', ['from']],
    ['granularity=hour', ['granularity']],
    ['granularity=hour&from=yesterday', ['granularity', 'from']],
    ['granularity=hour&from=2026-02-02&to=2026-02-01', ['granularity', 'from']],
  ];
  for (const path of [OWN, ALL, TENANTS]) {
    for (const [query, fields] of cases) {
      if (path === TENANTS && fields.includes('granularity')) continue;
      const { status, body } = await gateway.request(`${path}?${query}`);
      t.is(status, 400, `${path}?${query}`);
      t.deepEqual(
        body.errors.map(({ pointer }: { pointer: string }) => pointer),
        fields.map((name) => `/query/${name}`),
      );
    }
  }
  t.is((await gateway.request(`${OWN}?granularity=daily`)).status, 400);
  t.is((await gateway.request(`${ALL}?granularity=day`)).status, 400);
  const late = await gateway.request(`${TENANTS}?limit=-1&from=2026-02-02&to=2026-02-01`);
  const unnamed = await gateway.request(`${DETAILS}?limit=-1`);
  for (const [{ body }, name] of [[late, 'from'] as const, [unnamed, 'session_id'] as const]) {
    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer);
    t.deepEqual(pointers, ['/query/limit', `/query/${name}`]);
  }
  const missing = await gateway.request(DETAILS);
  t.deepEqual([missing.status, missing.body.errors[0].pointer], [400, '/query/session_id']);
  for (const session of ['', '%00', 'x'.repeat(129)]) {
    t.is((await gateway.request(`${DETAILS}?session_id=${session}`)).status, 400);
  }
});

eachGatewayDatabase(
  test,
  'who is no administrator sees the calls of his own sessions',
  async (t, { environment }) => {
    const gateway = await startEngineGateway(t, { env: environment });
    const tenant = await gateway.tenant();
    const [user, other] = [
      await gateway.key({ tenant_id: tenant }),
      await gateway.key({ tenant_id: tenant }),
    ];
    const admin = await gateway.key({ tenant_id: tenant, roles: ['admin'] });
    const owner = await gateway.key({ tenant_id: tenant, roles: ['owner'] });
    await spend(gateway, tenant, { identityId: user.id });
    await spend(gateway, tenant, { identityId: user.id, userId: 'ann' });
    await spend(gateway, DEFAULT_TENANT);
    const seen = async ({ token }: { token: string }, session = 's1', as?: string) => {
      const headers: Record<string, string> = as === undefined ? {} : { 'x-svc-user-id': as };
      const { status, body } = await gateway.request(`${DETAILS}?session_id=${session}`, { token, headers });
      t.is(status, 200);
      return body;
    };
    const { records, ...rest } = await seen(user);
    t.deepEqual(rest, { tenant_id: tenant, session_id: 's1', total: 2, limit: 50, offset: 0 });
    const { id, created_at, ...record } = records[0];
    t.is(typeof id, 'string');
    t.regex(created_at, /Z$/);
    t.deepEqual(record, {
      model: 'fast',
      provider: 'openai',
      provider_model: 'gpt-x',
      source: 'agent',
      estimated: false,
      input_tokens: 1000,
      output_tokens: 500,
      cache_read_tokens: 200,
      cache_write_tokens: 0,
      cost_usd: 0.2,
      request_id: null,
      trace_id: null,
      started_at: null,
      duration_ms: null,
      status: null,
    });
    t.is((await seen(user, 's1', 'ann')).total, 1);
    t.is((await seen(other)).total, 0);
    t.is((await seen(admin)).total, 2);
    t.is((await seen(owner)).total, 2);
    t.deepEqual((await seen(admin, 'unknown')).records, []);
    const page = await gateway.request(`${DETAILS}?session_id=s1&limit=1&offset=1`, { token: admin.token });
    t.is(page.body.records.length, 1);
  },
);

eachGatewayDatabase(test, 'billing sees all tenants together, one, or each', async (t, { environment }) => {
  const gateway = await startEngineGateway(t, { env: environment });
  const [first, second] = [await gateway.tenant('First'), await gateway.tenant('Second')];
  await spend(gateway, first);
  await spend(gateway, first, { sessionId: 's2' });
  await spend(gateway, second);
  const { token } = await gateway.key({ roles: ['billing'] });
  const get = async (path: string, by = token) => {
    const { status, body } = await gateway.request(path, { token: by });
    t.is(status, 200, path);
    return body;
  };
  t.like(await get(ALL), { tenant_id: null, granularity: 'daily', data: [{ requests: 3, cost_usd: 0.6 }] });
  t.like(await get(`${ALL}?tenant_id=${first}&granularity=monthly`), {
    tenant_id: first,
    granularity: 'monthly',
    data: [{ requests: 2 }],
  });
  t.deepEqual((await get(`${ALL}?tenant_id=x`)).data, []);

  const { tenants, total, limit, offset } = await get(TENANTS);
  t.deepEqual([total, limit, offset], [3, 50, 0]);
  const byName = (name: string) => tenants.find((tenant: { name: string }) => tenant.name === name);
  t.deepEqual(byName('First'), {
    tenant_id: first,
    name: 'First',
    sessions: 2,
    requests: 2,
    cost_usd: 0.4,
    input_tokens: 2000,
    output_tokens: 1000,
    total_tokens: 3000,
  });
  t.deepEqual(byName('Second'), { tenant_id: second, name: 'Second', sessions: 1, ...TOTALS });
  t.like(byName('Default Tenant'), { sessions: 0, requests: 0, cost_usd: 0, total_tokens: 0 });
  t.deepEqual((await get(`${TENANTS}?from=2001-01-01&to=2001-12-31`)).tenants[0].requests, 0);
  t.is((await get(`${TENANTS}?limit=1`)).tenants.length, 1);

  await gateway.gateway.services.tenants.scheduleDelete(first, new Date(Date.now() + DAY));
  t.is((await get(TENANTS)).total, 3, 'what a deleted tenant has consumed is still to be paid');
  await gateway.gateway.services.database.system().nativeUpdate(Tenant, first, { purgedAt: new Date() });
  t.is((await get(TENANTS)).total, 2, 'of a purged one there is nothing left');

  const confined = await gateway.key({ roles: ['billing'], tenant_id: second });
  t.like(await get(ALL, confined.token), { tenant_id: second, data: [{ requests: 1 }] });
  t.deepEqual((await get(`${ALL}?tenant_id=${first}`, confined.token)).data, []);
  t.like(await get(TENANTS, confined.token), { tenants: [{ tenant_id: second, requests: 1 }], total: 1 });
});

test('roles and scopes decide who may look', async (t) => {
  const gateway = await startEngineGateway(t);
  const tenant_id = await gateway.tenant();
  const cases: readonly (readonly [object, number, number])[] = [
    [{ roles: ['user'] }, 200, 403],
    [{ roles: ['user'], scopes: ['read', 'usage:read'] }, 200, 200],
    [{ roles: ['user'], scopes: ['execute'] }, 403, 403],
    [{ roles: ['admin'] }, 200, 403],
    [{ roles: ['owner'] }, 200, 200],
    [{ roles: ['billing'] }, 403, 200],
    [{ roles: ['auditor', 'ops', 'security', 'tenant'] }, 403, 403],
  ];
  for (const [settings, own, all] of cases) {
    const { token } = await gateway.key({ ...settings, tenant_id });
    for (const [path, expected] of [
      [OWN, own],
      [`${DETAILS}?session_id=s1`, own],
      [ALL, all],
      [TENANTS, all],
    ] as const) {
      t.is((await gateway.request(path, { token })).status, expected, `${path} ${JSON.stringify(settings)}`);
    }
  }
  for (const path of [OWN, DETAILS, ALL, TENANTS]) {
    t.is((await gateway.request(path, { token: null })).status, 401);
  }
});

test('calls of a replica whose clock is a day ahead are reported at once on others, and for their day', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const start = async (aheadMs: number) => {
    const gateway = await startTestGateway({
      env: { ...fresh.environment, SVC_DATABASE_POOL: '4', OBJECT_STORE_URL: 'none' },
      clock: { ...systemClock, now: () => Date.now() + aheadMs },
      plugins: [records, agentEngine, platform],
    });
    t.teardown(gateway.stop);
    return gateway;
  };
  const [here, ahead] = [await start(0), await start(DAY)];
  const body = { model: 'default', messages: [{ role: 'user', content: 'Hello' }] };
  const before = new Date().toISOString().slice(0, 10);
  t.is((await ahead.request('/v1/chat/completions', { method: 'POST', body })).status, 200);
  for (const { request } of [here, ahead]) {
    const { data } = (await request(OWN)).body;
    t.like(data, { length: 1, 0: { requests: 1 } });
    t.true([before, new Date().toISOString().slice(0, 10)].includes(data[0].date), data[0].date);
    t.like((await request(ALL)).body.data, { length: 1 });
  }
});
