import test from 'ava';
import type { NewReceipt } from '../../../../plugins/records/contract.ts';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { type EngineGateway, startEngineGateway } from './engine-gateway.ts';

const PATH = '/v1/execution-receipts';
const RECEIPT: NewReceipt = {
  sessionId: 's1',
  userId: 'u1',
  toolName: 'calculator',
  input: '{"expression":"6*7"}',
  output: '42',
  status: 'success',
  startedAt: new Date(Date.UTC(2026, 2, 31, 12)),
  durationMs: 3,
  requestId: 'r1',
  idempotencyId: 'step-1',
  traceId: null,
};

async function submit(gateway: EngineGateway, tenant: string, changes: Partial<NewReceipt> = {}) {
  const entities = gateway.gateway.services.database.forTenant(tenant);
  return gateway.receipts.submit(entities, { ...RECEIPT, idempotencyId: null, ...changes });
}

eachGatewayDatabase(
  test,
  'auditors list and read the receipts of their tenant',
  async (t, { environment }) => {
    const gateway = await startEngineGateway(t, { env: environment });
    const [own, foreign] = [await gateway.tenant(), await gateway.tenant()];
    const { token } = await gateway.key({ tenant_id: own, roles: ['auditor'], scopes: ['audit'] });
    const { id, createdAt } = await submit(gateway, own, { idempotencyId: 'step-1' });
    const theirs = await submit(gateway, foreign, { idempotencyId: 'step-1' });
    const wire = {
      id,
      tenant_id: own,
      session_id: 's1',
      user_id: 'u1',
      tool_name: 'calculator',
      input: '{"expression":"6*7"}',
      output: '42',
      status: 'success',
      started_at: '2026-03-31T12:00:00.000Z',
      duration_ms: 3,
      request_id: 'r1',
      idempotency_id: 'step-1',
      trace_id: null,
      created_at: createdAt.toISOString(),
    };
    const list = await gateway.request(PATH, { token });
    t.is(list.status, 200);
    t.deepEqual(list.body, { execution_receipts: [wire], total: 1, limit: 50, offset: 0 });
    t.deepEqual((await gateway.request(`${PATH}/${id}`, { token })).body, wire);
    for (const unknown of [theirs.id, 'x', '%00', '01900000-0000-7000-8000-000000000000']) {
      const { status, body } = await gateway.request(`${PATH}/${unknown}`, { token });
      t.deepEqual([status, body.code], [404, 'receipt.not-found'], unknown);
    }
  },
);

test('filters match exactly, and pages have a default and a maximum', async (t) => {
  const clock = manualClock();
  const gateway = await startEngineGateway(t, { clock });
  const tenant = await gateway.tenant();
  const { token } = await gateway.key({ tenant_id: tenant, roles: ['auditor'] });
  await submit(gateway, tenant);
  clock.advance(1);
  await submit(gateway, tenant, { toolName: 'http_fetch', status: 'timeout' });
  clock.advance(1);
  await submit(gateway, tenant, { sessionId: 's2', status: 'error' });
  const { headers } = await gateway.request(PATH, { token });
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
  const found = async (query: string) => {
    const { status, body } = await gateway.request(`${PATH}?${query}`, { token });
    t.is(status, 200, query);
    t.is(body.execution_receipts.length, Math.min(body.total, body.limit), query);
    return body.total;
  };
  t.is(await found('session_id=s1'), 2);
  t.is(await found('tool_name=http_fetch'), 1);
  t.is(await found('tool_name=http'), 0);
  t.is(await found('status=error&session_id=s2'), 1);
  t.is(await found('request_id=r1'), 3);
  t.is(await found('request_id=r1&session_id=s2'), 1);
  t.is(await found('request_id=r'), 0);
  t.is(await found('status=error&session_id=s1'), 0);
  t.is(await found('idempotency_id=step-1'), 3, 'no filter');
  const page = await gateway.request(`${PATH}?limit=1&offset=1`, { token });
  t.is(page.body.execution_receipts[0].tool_name, 'http_fetch');
  t.is((await gateway.request(`${PATH}?limit=9999`, { token })).body.limit, 500);
  for (const [query, field] of [
    ['status=done', 'status'],
    ['limit=-1', 'limit'],
    ['offset=x', 'offset'],
    ['session_id=%00', 'session_id'],
    [`tool_name=${'x'.repeat(129)}`, 'tool_name'],
  ] as const) {
    const { status, body } = await gateway.request(`${PATH}?${query}`, { token });
    t.is(status, 400, query);
    t.deepEqual(
      body.errors.map(({ pointer }: { pointer: string }) => pointer),
      [`/query/${field}`],
    );
  }
});

test('roles and scopes decide who may look, and nobody writes', async (t) => {
  const gateway = await startEngineGateway(t);
  const tenant_id = await gateway.tenant();
  const cases: readonly [object, number][] = [
    [{ roles: ['auditor'] }, 200],
    [{ roles: ['auditor'], scopes: ['execute'] }, 200],
    [{ roles: ['admin'] }, 200],
    [{ roles: ['owner'] }, 200],
    [{ roles: ['user'] }, 403],
    [{ roles: ['security', 'billing', 'ops', 'tenant'] }, 403],
    [{ roles: ['user'], scopes: ['audit:read'] }, 403],
  ];
  for (const [settings, expected] of cases) {
    const { token } = await gateway.key({ ...settings, tenant_id });
    t.is((await gateway.request(PATH, { token })).status, expected, JSON.stringify(settings));
  }
  t.is((await gateway.request(PATH, { token: null })).status, 401);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    t.is((await gateway.request(PATH, { method, body: {} })).status, 405);
    t.is((await gateway.request(`${PATH}/x`, { method, body: {} })).status, 405);
  }
});

eachGatewayDatabase(
  test,
  'q finds receipts by a part of id, tool, session or user',
  async (t, { environment }) => {
    const gateway = await startEngineGateway(t, { env: environment });
    const tenant = await gateway.tenant();
    const { token } = await gateway.key({ tenant_id: tenant, roles: ['auditor'] });
    const first = await submit(gateway, tenant, { toolName: 'mcp/Search_100%' });
    const second = await submit(gateway, tenant, { sessionId: 'Evening', status: 'error' });
    const third = await submit(gateway, tenant, { userId: 'anna\\b' });
    await submit(gateway, await gateway.tenant(), { toolName: 'search' });
    const found = async (query: Record<string, string>) => {
      const { status, body } = await gateway.request(`${PATH}?${new URLSearchParams(query)}`, { token });
      t.is(status, 200, JSON.stringify(query));
      return [body.total, ...body.execution_receipts.map(({ id }: { id: string }) => id)];
    };
    t.deepEqual(await found({ q: 'search' }), [1, first.id]);
    t.deepEqual(await found({ q: '_100%' }), [1, first.id]);
    t.deepEqual(await found({ q: 'h%1' }), [0]);
    t.deepEqual(await found({ q: 'EVEN' }), [1, second.id]);
    t.deepEqual(await found({ q: 'even', status: 'success' }), [0]);
    t.deepEqual(await found({ q: 'a\\B' }), [1, third.id]);
    t.deepEqual(await found({ q: third.id.slice(4) }), [1, third.id]);
    t.deepEqual(await found({ q: 'c', limit: '1', offset: '1' }), [3, second.id]);
    for (const q of ['', 'x'.repeat(129), '\0']) {
      const refused = await gateway.request(`${PATH}?${new URLSearchParams({ q })}`, { token });
      t.is(refused.status, 400);
      t.is(refused.body.errors[0].pointer, '/query/q');
    }
  },
);
