import test, { type ExecutionContext } from 'ava';
import {
  definePlugin,
  type Logger,
  type RetainedRecords,
  RetentionPoint,
} from '../../../../../kernel/index.ts';
import { recordKinds } from '../../../../../plugins/records/services/retention/record-kinds.ts';
import { createSweep } from '../../../../../plugins/records/services/retention/sweep.ts';
import { manualClock, type TestGateway } from '../../../../../testing/index.ts';
import { eachGatewayDatabase, type FreshDatabase, gatewayDatabase } from '../../../../support/databases.ts';
import { until } from '../../../../support/until.ts';
import { chain } from '../../../../support/workflow-story.ts';
import { callsAs, fill, objectKeys, startProtected } from '../../../platform/data-protection-kit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const never = new AbortController().signal;

/** All kinds that there are, and which table has them. */
const TABLES: Readonly<Record<string, string>> = {
  agent_checkpoints: 'agent_checkpoints',
  api_keys: 'api_keys',
  chats: 'runtime_chats',
  conversations: 'runtime_conversations',
  execution_receipts: 'execution_receipts',
  files: 'files',
  session_messages: 'session_messages',
  sessions: 'sessions',
  usage_records: 'usage_records',
  webhook_logs: 'runtime_webhook_logs',
  workflow_events: 'workflow_events',
  workflow_runs: 'workflow_runs',
};

/** A gateway that sweeps when the test says so, over everything that its plugins contribute. */
async function startSwept(t: ExecutionContext, fresh: FreshDatabase, env: Record<string, string> = {}) {
  let contributed: () => readonly RetainedRecords[] = () => [];
  let log!: Logger;
  const listener = definePlugin({
    name: 'listener',
    summary: 'Sees what is contributed',
    kernel: '^1.0.0',
    points: [RetentionPoint],
    setup(scope) {
      contributed = scope.contributions(RetentionPoint);
      log = scope.log;
    },
  });
  const clock = manualClock(Date.now());
  const gateway = await startProtected(t, {
    clock,
    plugins: [listener],
    env: { ...fresh.environment, SVC_RETENTION_INTERVAL: '500h', ...env },
  });
  const { services } = gateway.gateway;
  const { database } = services;
  const deleted: Record<string, number> = {};
  const kinds = () => new Map(contributed().map((kind) => [kind.name, kind]));
  const parts = {
    ...services,
    // Both clocks are the test's.
    database: {
      system: database.system.bind(database),
      transaction: database.transaction.bind(database),
      now: async () => clock.now(),
    },
    log,
    kinds,
    deployment: new Map<string, number | null>(),
    deleted: (kind: string, count: number) => {
      deleted[kind] = (deleted[kind] ?? 0) + count;
    },
  };
  return {
    gateway,
    clock,
    kinds,
    deleted,
    parts,
    sweep: createSweep(parts),
    count: async (tenantId: string) => {
      const counts: Record<string, number> = {};
      for (const [kind, table] of Object.entries(TABLES)) {
        const [row] = await fresh.ask(`select count(*) as n from ${table} where tenant_id = '${tenantId}'`);
        counts[kind] = Number(row!.n);
      }
      return counts;
    },
  };
}

/** Rules of a tenant through the API. */
async function setRules(gateway: TestGateway, tenantId: string, rules: Record<string, string>) {
  for (const [kind, keep] of Object.entries(rules)) {
    const path = `/admin/v1/tenants/${tenantId}/retention/${kind}`;
    const { status, body } = await gateway.request(path, { method: 'PUT', body: { keep } });
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  }
}

eachGatewayDatabase(
  test,
  'records go when their time is over: those of the tenant, of the kind, and no others',
  async (t, fresh) => {
    const { gateway, clock, kinds, deleted, sweep, count } = await startSwept(t, fresh);
    t.deepEqual([...kinds().keys()].sort(), Object.keys(TABLES));
    const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
    for (const tenant of [one, two]) {
      await fill(gateway, tenant, 'ada', 'tea');
      const call = callsAs(gateway, tenant.token);
      const keys = `/admin/v1/tenants/${tenant.id}/api-keys`;
      const { body: key } = await gateway.request(keys, { method: 'POST', body: { name: 'revoked' } });
      t.is((await gateway.request(`${keys}/${key.id}`, { method: 'DELETE' })).status, 204);
      const definition = await call('POST', '/v1/workflow-definitions', {
        name: 'ends',
        graph: chain(),
      });
      await call('POST', `/v1/workflow-definitions/${definition.id}/publish`, {});
      await call('POST', '/v1/workflow-runs?wait=10', { definition_id: definition.id, input: {} });
    }
    const before = await count(one.id);
    for (const [kind, records] of Object.entries(before))
      t.true(records > 0 || kind === 'webhook_logs', `there are ${kind}`);
    t.is(before.workflow_runs, 2, 'one has ended, one waits');

    await setRules(gateway, one.id, Object.fromEntries(Object.keys(TABLES).map((kind) => [kind, '2d'])));
    await setRules(gateway, two.id, { chats: 'forever' });
    clock.advance(2 * DAY_MS);
    await sweep(never);
    t.deepEqual(deleted, {}, 'on the day itself nothing goes');
    const size = await fresh.ask(
      `select records from retention_sizes where kind = 'sessions' and tenant_id = '${one.id}'`,
    );
    t.is(Number(size[0]!.records), before.sessions!);

    clock.advance(DAY_MS);
    const due: Record<string, number> = {};
    for (const [kind, records] of kinds())
      due[kind] = await records.count(one.id, new Date(clock.now() - 2 * DAY_MS));
    await sweep(never);
    const after = await count(one.id);
    const nothing = Object.fromEntries(Object.keys(TABLES).map((kind) => [kind, 0]));
    // Deliveries go on meanwhile, and log their attempts.
    const { webhook_logs = 0, workflow_events = 0 } = after;
    const api_keys = before.api_keys! - 1;
    t.deepEqual(after, { ...nothing, api_keys, workflow_runs: 1, workflow_events, webhook_logs });
    const end = clock.now() - 2 * DAY_MS;
    const logs = `select count(*) as n from runtime_webhook_logs where tenant_id = '${one.id}' and delivered_at < ${end}`;
    t.is(Number((await fresh.ask(logs))[0]!.n), 0);
    t.true(workflow_events > 0, 'the run that waits keeps its events');
    // A conversation is due once its session is gone, and events go with their run, the last of them too.
    t.like(due, { ...deleted, conversations: 0 }, 'a preview counts what a sweep deletes');
    t.is(due.workflow_events, before.workflow_events! - workflow_events - 1);
    const { webhook_logs: _, ...others } = await count(two.id);
    t.like({ ...before }, others, 'of the other tenant nothing went');
    const hasFiles = async () => (await objectKeys(gateway, one.id)).some((key) => key.startsWith('files/'));
    await until(async () => !(await hasFiles()));

    const { audit } = gateway.gateway.services;
    const applied = async () => {
      await audit.settle();
      return (await gateway.request(`/admin/v1/audit-logs?action=retention.applied&tenant_id=${one.id}`))
        .body;
    };
    const { audit_logs: records } = await applied();
    const told = records.map(({ detail }: { detail: { changes: { kind: string } } }) => detail.changes.kind);
    t.deepEqual(told.sort(), Object.keys(deleted).sort());

    clock.advance(31 * DAY_MS);
    await sweep(never);
    t.is((await count(two.id)).chats, before.chats, 'kept for good, against the default of 30 days');
  },
);

eachGatewayDatabase(
  test,
  'a new rule waits for its grace, and one of the operator does not',
  async (t, fresh) => {
    const { gateway, clock, sweep, parts, count } = await startSwept(t, fresh);
    const tenant = await gateway.makeTenant();
    const call = callsAs(gateway, tenant.token, 'ada');
    const ask = { model: 'demo', messages: [{ role: 'user', content: 'hi' }] };
    await call('POST', '/v1/agent/chat', ask);
    clock.advance(5 * DAY_MS);
    await setRules(gateway, tenant.id, { sessions: '1d' });
    clock.advance(24 * HOUR_MS - 1);
    await sweep(never);
    t.is((await count(tenant.id)).sessions, 1);
    clock.advance(1);
    await sweep(never);
    t.is((await count(tenant.id)).sessions, 0);
    await createSweep({ ...parts, deployment: new Map([['usage_records', DAY_MS]]) })(never);
    t.deepEqual(await count(tenant.id), { ...(await count(tenant.id)), usage_records: 0 });
  },
);

test('a replica whose clock is ahead of the database deletes nothing before its time', async (t) => {
  const fresh = (await gatewayDatabase(t, 'sqlite'))!;
  const { gateway, clock, parts, count } = await startSwept(t, fresh);
  const tenant = await gateway.makeTenant();
  const ask = { model: 'demo', messages: [{ role: 'user', content: 'hi' }] };
  await callsAs(gateway, tenant.token, 'ada')('POST', '/v1/agent/chat', ask);
  const right = clock.now();
  clock.advance(400 * DAY_MS);
  const deployment = new Map([['sessions', 90 * DAY_MS]]);
  const database = { ...parts.database, now: async () => right };
  await createSweep({ ...parts, deployment, database })(never);
  t.is((await count(tenant.id)).sessions, 1);
  await createSweep({ ...parts, deployment })(never);
  t.is((await count(tenant.id)).sessions, 0, 'by both clocks its time is over');
});

eachGatewayDatabase(test, 'messages go by whole turns, and the conversation goes on', async (t, fresh) => {
  const { gateway, clock, sweep, count } = await startSwept(t, fresh);
  const tenant = await gateway.makeTenant();
  const call = callsAs(gateway, tenant.token, 'ada');
  const session = { 'x-svc-session-id': 's1' };
  const say = (content: string) =>
    call('POST', '/v1/agent/chat', { model: 'demo', messages: [{ role: 'user', content }] }, session);
  await say('use the calculator: what is 17 * 23?');
  await setRules(gateway, tenant.id, { session_messages: '1d', sessions: '30d' });
  clock.advance(2 * DAY_MS);
  await say('second');
  const all = (await count(tenant.id)).session_messages!;
  t.true(all >= 5);
  await sweep(never);
  const { messages } = await call('GET', '/v1/sessions/s1');
  t.deepEqual(messages.map(({ content }: { content: string }) => content)[0], 'second');
  t.is(messages.length, 2);
  await say('third');
  t.is((await call('GET', '/v1/sessions/s1')).messages.length, 4);
  t.is((await count(tenant.id)).session_messages, 4);
});

test('a later sweep of messages looks only at sessions that were used since', async (t) => {
  const fresh = (await gatewayDatabase(t, 'sqlite'))!;
  const { gateway, clock, count } = await startSwept(t, fresh);
  const tenant = await gateway.makeTenant();
  const call = callsAs(gateway, tenant.token, 'ada');
  const say = (id: string) => {
    const ask = { model: 'demo', messages: [{ role: 'user', content: 'hi' }] };
    return call('POST', '/v1/agent/chat', ask, { 'x-svc-session-id': id });
  };
  const { database } = gateway.gateway.services;
  let seen: string[] = [];
  const watched = (tenantId: string) => {
    const entities = database.forTenant(tenantId);
    return {
      erase: entities.erase.bind(entities),
      rows: async (...query: Parameters<typeof entities.rows>) => {
        const rows = await entities.rows(...query);
        seen.push(...(rows as { id: string }[]).map(({ id }) => id));
        return rows;
      },
    };
  };
  const parts = { ...gateway.gateway.services, database: { forTenant: watched } };
  const kind = recordKinds(parts as never).find(({ name }) => name === 'session_messages')!;
  const sweep = async () => {
    seen = [];
    let deleted = 0;
    for await (const batch of kind.deleteBefore(tenant.id, new Date(clock.now() - DAY_MS), never))
      deleted += batch;
    return deleted;
  };
  for (const id of ['old', 'used']) await say(id);
  clock.advance(2 * DAY_MS);
  await say('used');
  t.is(await sweep(), 4);
  t.deepEqual(seen.toSorted(), ['old', 'used']);
  clock.advance(2 * DAY_MS);
  await say('new');
  t.is(await sweep(), 2);
  t.deepEqual(seen.toSorted(), ['new', 'used']);
  t.is((await count(tenant.id)).session_messages, 2);
});

test('a session whose turn is in flight is left alone, and what fails is its own misfortune', async (t) => {
  const fresh = (await gatewayDatabase(t, 'sqlite'))!;
  const { gateway, clock, parts, kinds, sweep, deleted } = await startSwept(t, fresh);
  const tenant = await gateway.makeTenant();
  const call = callsAs(gateway, tenant.token, 'ada');
  for (const id of ['s1', 's2'])
    await call(
      'POST',
      '/v1/agent/chat',
      { model: 'demo', messages: [{ role: 'user', content: id }] },
      { 'x-svc-session-id': id },
    );
  await setRules(gateway, tenant.id, { sessions: '1d', usage_records: '1d' });
  clock.advance(10 * DAY_MS);
  const turn = await gateway.gateway.services.leases.acquire(`sessions:${tenant.id}`, {
    name: 's1',
    limit: 10,
  });
  const broken = { ...kinds().get('sessions')!, name: 'broken', keptFor: HOUR_MS };
  broken.deleteBefore = async function* () {
    yield 0;
    throw new Error('a disk');
  };
  broken.sizes = () => Promise.reject(new Error('a disk'));
  const withBroken = () => new Map([['broken', broken], ...kinds()]);
  await createSweep({ ...parts, kinds: withBroken })(never);
  t.deepEqual(deleted, { sessions: 1, usage_records: 2 });
  await turn.release();
  await sweep(never);
  t.deepEqual(deleted, { sessions: 2, usage_records: 2 });
  await t.throwsAsync(
    sweep(AbortSignal.abort()),
    { name: 'AbortError' },
    'a sweep that was stopped is not over',
  );
});
