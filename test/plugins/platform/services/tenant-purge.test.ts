import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { type Clock, systemClock } from '../../../../foundation/base/clock.ts';
import { isUniqueViolation } from '../../../../foundation/data/errors.ts';
import { unwrap } from '../../../../foundation/data/tenancy.ts';
import { egressRegistration } from '../../../../foundation/egress/rule.ts';
import { kernelRegistration } from '../../../../foundation/gateway-tables.ts';
import { jobRegistration } from '../../../../foundation/messages/jobs/job-table.ts';
import type { Objects } from '../../../../foundation/objects/objects.ts';
import { ScheduleRow } from '../../../../foundation/schedules/schedule-table.ts';
import { AuditLog } from '../../../../foundation/tables/audit-log.ts';
import { Tenant } from '../../../../foundation/tables/tenant.ts';
import { GeneTable } from '../../../../plugins/evolution/store/tables.ts';
import { AgentStateEntity } from '../../../../plugins/runtime/store/agent-states.ts';
import { sampleRow } from '../../../../testing/conformance/sample-row.ts';
import { bundledPlugins, manualClock, memoryObjects, type TestGateway } from '../../../../testing/index.ts';
import {
  eachGatewayDatabase,
  type FreshDatabase,
  gatewayDatabase,
  SERVER_FAMILIES,
} from '../../../support/databases.ts';
import { plain, startFakeProvider } from '../../../support/fake-provider.ts';
import { geneRow } from '../../../support/gene-rows.ts';
import { recordStatements } from '../../../support/statements.ts';
import { until } from '../../../support/until.ts';
import { calls, chain } from '../../../support/workflow-story.ts';
import { callsAs, fill, objectKeys, startProtected } from '../data-protection-kit.ts';
import { providerEnv } from '../routes/chat-kit.ts';

const HOUR_MS = 3_600_000;

/** Deleted tenants are purged at once. */
const AT_ONCE = { SVC_TENANT_RETENTION: '1ms', SVC_PURGE_INTERVAL: '100ms' };

/** They are purged when the test says so. */
const BY_HAND = { SVC_TENANT_RETENTION: '1ms', SVC_PURGE_INTERVAL: '500h' };

/** A gateway whose first purge is over: it would take what a test deletes meanwhile. */
async function startByHand(t: ExecutionContext, clock?: Clock): Promise<TestGateway> {
  const gateway = await startProtected(t, { ...(clock && { clock }), env: BY_HAND });
  const schedules = () => gateway.gateway.services.database.system().find(ScheduleRow, {});
  const isOver = ({ name, nextAt }: { name: string; nextAt: number }) =>
    name === 'platform.tenant-purge' && nextAt > Date.now() + HOUR_MS;
  await until(async () => (await schedules()).some(isOver));
  return gateway;
}

const COLUMNS = {
  sqlite: `select m.name as name, c.name as col from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'`,
  // The view of the standard looks at rights, too, and takes a tenth of a second.
  postgres: `select relname as name, attname as col from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped`,
  mysql: `select table_name as name, column_name as col from information_schema.columns where table_schema = database()`,
} as const;

/** The columns of all tables, whoever made them. */
async function columnsOf(fresh: FreshDatabase): Promise<ReadonlyMap<string, readonly string[]>> {
  const columns = new Map<string, string[]>();
  for (const { name, col } of await fresh.ask(COLUMNS[fresh.family])) {
    columns.set(String(name), [...(columns.get(String(name)) ?? []), String(col)]);
  }
  return columns;
}

/**
 * How many rows each table has of a tenant, of all that have a column for it. Asked in one statement: there are many
 * tables, and it is asked often.
 */
async function rowsOf(fresh: FreshDatabase, tenantId: string): Promise<Record<string, number>> {
  const counts = [...(await columnsOf(fresh))]
    .filter(([, columns]) => columns.includes('tenant_id'))
    .map(([name]) => `select '${name}' as name, count(*) as n from ${name} where tenant_id = '${tenantId}'`);
  const rows = await fresh.ask(counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, n }) => [String(name), Number(n)]));
}

/** The tables of which a row names an id in any of its columns, of all that there are. */
async function naming(fresh: FreshDatabase, id: string): Promise<readonly string[]> {
  const quote = fresh.family === 'mysql' ? '`' : '"';
  const text = fresh.family === 'mysql' ? 'char' : 'text';
  const searches = [...(await columnsOf(fresh))].map(([name, columns]) => {
    const isNamed = columns.map((column) => `cast(${quote}${column}${quote} as ${text}) like '%${id}%'`);
    return `select '${name}' as name where exists (select 1 from ${name} where ${isNamed.join(' or ')})`;
  });
  return (await fresh.ask(searches.join(' union all '))).map(({ name }) => String(name)).sort();
}

/** Puts a row into every table of tenants that is registered. */
async function fillTables({ gateway }: TestGateway, tenantId: string, word: string): Promise<void> {
  const registered = [
    ...[kernelRegistration, jobRegistration, egressRegistration].flatMap(({ entities }) => entities),
    ...gateway.host.slots.all.flatMap(({ plugin }) => plugin?.entities ?? []),
  ];
  const entities = gateway.services.database.forTenant(tenantId);
  for (const { entity, declared } of registered.map(unwrap)) {
    if (declared !== undefined) continue;
    // The gateway itself may have written the one row of a tenant by now, that of provisioned skills for example.
    await entities.insert(entity, sampleRow(entity, word)).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
    });
  }
}

const purged = (gateway: TestGateway, id: string) =>
  until(async () => (await gateway.request(`/v1/tenants/${id}`)).body.purged_at !== null, 60_000);

/** One run, of which nothing is asked. */
const purgeNow = ({ gateway }: TestGateway, signal = new AbortController().signal) =>
  gateway.services.protection.purge.run({ signal, halt: async () => {}, removeElsewhere: async () => {} });

const remove = async (t: ExecutionContext, gateway: TestGateway, id: string) =>
  t.is((await gateway.request(`/v1/tenants/${id}`, { method: 'DELETE' })).status, 202);

eachGatewayDatabase(
  test,
  'a purge leaves nothing of a tenant but its audit records, and all of another',
  async (t, fresh) => {
    const plugins = await bundledPlugins();
    const gateway = await startProtected(t, { env: { ...fresh.environment, ...AT_ONCE }, plugins });
    const [gone, kept] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
    for (const [tenant, word] of [
      [gone, '4711081501'],
      [kept, '4711081502'],
    ] as const) {
      await fill(gateway, tenant, 'ada', 'violet');
      await fillTables(gateway, tenant.id, word);
    }
    const before = await rowsOf(fresh, gone.id);
    for (const [table, count] of Object.entries(before)) t.true(count > 0, `${table} was filled`);
    t.true((await objectKeys(gateway, gone.id)).length > 0);
    const others = await rowsOf(fresh, kept.id);
    const objects = await objectKeys(gateway, kept.id);
    // What others have learned from it names it.
    const { database } = gateway.gateway.services;
    const shared = { id: randomUUID(), source: 'hub', contributor: gone.id, senderId: 'elsewhere' } as const;
    await database.forTenant(kept.id).insert(GeneTable, geneRow(shared));

    await remove(t, gateway, gone.id);
    await purged(gateway, gone.id);
    const { audit_logs: audited, ...rows } = await rowsOf(fresh, gone.id);
    t.deepEqual(new Set(Object.values(rows)), new Set([0]), JSON.stringify(rows));
    t.deepEqual(await objectKeys(gateway, gone.id), []);
    // Leases are swept an hour after their last use; here nothing else has waited as long as a retention.
    const named = (await naming(fresh, gone.id)).filter((table) => table !== 'kernel_leases');
    t.deepEqual(named, ['audit_logs', 'tenants'], 'no other row names it');
    const learned = await database.forTenant(kept.id).rows(GeneTable, { id: shared.id }, { limit: 1 });
    t.like(
      learned,
      { 0: { contributor: null, senderId: null, source: 'hub' } },
      'it stays with who has learned it',
    );
    t.true(audited! > 0);
    const logs = await fresh.ask(
      `select user_id, action, detail from audit_logs where tenant_id = '${gone.id}'`,
    );
    for (const log of logs)
      t.regex(String(log.user_id), log.action === 'tenant.purged' ? /^$/ : /^$|^erased-/);
    t.false(JSON.stringify(logs).includes('"ada"'));
    t.is(logs.filter(({ action }) => action === 'tenant.purged').length, 1);

    for (const [table, count] of Object.entries(others))
      t.true((await rowsOf(fresh, kept.id))[table]! >= count, table);
    const left = new Set(await objectKeys(gateway, kept.id));
    t.deepEqual(
      objects.filter((key) => !left.has(key)),
      [],
    );
    t.is((await gateway.request('/v1/me', { token: gone.token })).status, 401);
    t.is((await gateway.request('/v1/me', { token: kept.token })).status, 200);
    const restored = await gateway.request(`/v1/tenants/${gone.id}/restore`, { method: 'POST' });
    t.deepEqual([restored.status, restored.body.code], [410, 'tenant.purged']);
    t.like((await gateway.request(`/v1/tenants/${gone.id}`)).body, { name: 'Purged tenant' });
  },
);

eachGatewayDatabase(
  test,
  'work of a deleted tenant that is under way ends, and leaves nothing',
  async (t, fresh) => {
    const provider = await startFakeProvider(plain(), async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    t.teardown(() => provider[Symbol.asyncDispose]());
    const env = { ...fresh.environment, ...AT_ONCE, ...providerEnv(provider) };
    const gateway = await startProtected(t, { env });
    const tenant = await gateway.makeTenant('one');
    const call = callsAs(gateway, tenant.token, 'ada');
    const body = { model: 'default', messages: [{ role: 'user', content: 'Hi' }] };
    await call('POST', '/v1/chat/completions', body);
    const chats = ['/v1/agent/chat', '/v1/chat/completions'].map((path) =>
      gateway.request(path, { method: 'POST', token: tenant.token, body }),
    );
    const graph = chain(calls(provider.url, 'slow'));
    const definition = await call('POST', '/v1/workflow-definitions', { name: 'waits', graph });
    await call('POST', `/v1/workflow-definitions/${definition.id}/publish`, {});
    await call('POST', '/v1/workflow-runs', { definition_id: definition.id, input: {} });
    await until(() => provider.requests.length === 4);

    await remove(t, gateway, tenant.id);
    await purged(gateway, tenant.id);
    for (const { status } of await Promise.all(chats)) t.is(status, 409);
    // What was on its way is gone with one of the next looks at the latest, and then nothing comes any more.
    const traces = async () => {
      const { audit_logs: _, ...rows } = await rowsOf(fresh, tenant.id);
      return Object.values(rows).reduce((sum, count) => sum + count, 0);
    };
    let quiet = 0;
    await until(async () => {
      quiet = (await traces()) === 0 ? quiet + 1 : 0;
      return quiet === 40;
    }, 60_000);
    t.deepEqual(await objectKeys(gateway, tenant.id), []);
  },
);

test('what comes late for a purged tenant is removed by a later look, for two days', async (t) => {
  const clock = manualClock();
  const gateway = await startByHand(t, clock);
  const tenant = await gateway.makeTenant('one');
  await remove(t, gateway, tenant.id);
  const { database, objects, tenants } = gateway.gateway.services;
  const rows = database.forTenant(tenant.id);
  clock.advance(2);
  await until(async () => {
    await purgeNow(gateway);
    return (await tenants.get(tenant.id))!.purgedAt !== null;
  });
  const comesLate = async () => {
    await rows.insert(AgentStateEntity, sampleRow(AgentStateEntity, '4711'));
    await objects.forTenant(tenant.id).put('files/late', 'late');
  };
  const left = async () => [
    await rows.count(AgentStateEntity, {}),
    (await objectKeys(gateway, tenant.id)).length,
  ];
  await comesLate();
  clock.advance(47 * HOUR_MS);
  await purgeNow(gateway);
  t.deepEqual(await left(), [0, 0]);
  const recorded = { tenantId: tenant.id, action: 'tenant.purged' };
  t.is(await database.system().count(AuditLog, recorded), 1, 'it is recorded once');
  await comesLate();
  clock.advance(2 * HOUR_MS);
  await purgeNow(gateway);
  t.deepEqual(await left(), [1, 1], 'by then all that was under way has long ended');
});

test('a purged tenant is looked at again in few statements, however many tables there are', async (t) => {
  const clock = manualClock();
  const gateway = await startByHand(t, clock);
  const tenant = await gateway.makeTenant('one');
  await remove(t, gateway, tenant.id);
  const { database, tenants } = gateway.gateway.services;
  clock.advance(2);
  await until(async () => {
    await purgeNow(gateway);
    return (await tenants.get(tenant.id))!.purgedAt !== null;
  });
  const { length } = await database.tenantTables.list();
  const statements = recordStatements(database);
  await purgeNow(gateway);
  const asked = statements.take().filter(({ parameters }) => parameters.includes(tenant.id));
  t.true(asked.length < length / 2, `${asked.length} statements for ${length} tables`);
});

for (const family of SERVER_FAMILIES) {
  test(`${family}: a replica whose clock is ahead of the database purges nothing before its time`, async (t) => {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return;
    const clock = manualClock(Date.now());
    const env = { ...fresh.environment, ...BY_HAND, SVC_TENANT_RETENTION: '30d' };
    const gateway = await startProtected(t, { clock, env });
    const tenant = await gateway.makeTenant('one');
    await remove(t, gateway, tenant.id);
    clock.advance(400 * 24 * HOUR_MS);
    await purgeNow(gateway);
    const [row] = await fresh.ask(`select purge_started_at from tenants where id = '${tenant.id}'`);
    t.deepEqual(row, { purge_started_at: null });
  });
}

test('tables of plugins that do not run are purged as well', async (t) => {
  const gateway = await startProtected(t, { env: AT_ONCE });
  const tenant = await gateway.makeTenant('one');
  const rows = gateway.gateway.services.database.forTenant(tenant.id);
  await rows.insert(AgentStateEntity, sampleRow(AgentStateEntity, '4711'));
  await gateway.request('/admin/v1/plugins/runtime/disable', { method: 'POST' });
  await remove(t, gateway, tenant.id);
  await purged(gateway, tenant.id);
  await gateway.request('/admin/v1/plugins/runtime/enable', { method: 'POST' });
  t.is(await rows.count(AgentStateEntity, {}), 0);
});

test('a tenant whose objects cannot be deleted is not marked, and tried again', async (t) => {
  const real = memoryObjects(systemClock);
  let failures = 0;
  const objects: Objects = {
    ...real,
    all: () => ({
      ...real.all(),
      deleteAll: async (prefix) => {
        failures += 1;
        if (failures <= 5) throw new Error('the store is away');
        return real.all().deleteAll(prefix);
      },
    }),
  };
  const gateway = await startProtected(t, { services: { objects }, env: AT_ONCE });
  const [first, second] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
  await real.forTenant(first.id).put('files/a', 'a');
  await remove(t, gateway, first.id);
  await until(() => failures >= 1);
  t.is((await gateway.request(`/v1/tenants/${first.id}`)).body.purged_at, null);
  const restored = await gateway.request(`/v1/tenants/${first.id}/restore`, { method: 'POST' });
  t.deepEqual([restored.status, restored.body.code], [410, 'tenant.purged'], 'half of it is gone');
  await remove(t, gateway, second.id);
  await purged(gateway, first.id);
  await purged(gateway, second.id);
  t.deepEqual((await real.forTenant(first.id).list('')).objects, []);
  t.true(gateway.logs().some((line) => line.includes('a deleted tenant could not be purged')));
});

test('what a plugin keeps elsewhere goes first, also where its work does not end', async (t) => {
  const gateway = await startByHand(t);
  const tenant = await gateway.makeTenant('one');
  await remove(t, gateway, tenant.id);
  const { purge } = gateway.gateway.services.protection;
  const asked: string[] = [];
  await until(
    async () =>
      (await gateway.request(`/v1/tenants/${tenant.id}`)).body.purge_after < new Date().toISOString(),
  );
  await purge.run({
    signal: new AbortController().signal,
    async halt(id) {
      asked.push(`halts ${id === tenant.id}`);
      throw new Error('it does not end');
    },
    removeElsewhere: async () => void asked.push('removes'),
  });
  t.deepEqual(asked, ['halts true', 'removes'], 'work that does not end is no reason to keep data');
  await purged(gateway, tenant.id);
});

test('a run that is stopped leaves the rest to the next one', async (t) => {
  const gateway = await startByHand(t);
  const tenants = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
  for (const { id } of tenants) await remove(t, gateway, id);
  const { protection, tenants: records } = gateway.gateway.services;
  const stop = new AbortController();
  let halted = 0;
  await until(async () => {
    await protection.purge.run({
      signal: stop.signal,
      async halt() {
        halted += 1;
        stop.abort();
      },
      removeElsewhere: async () => {},
    });
    return halted > 0;
  });
  const open = async () =>
    (await Promise.all(tenants.map(({ id }) => records.get(id)))).filter((one) => one?.purgedAt === null)
      .length;
  t.deepEqual([halted, await open()], [1, 2]);
  await until(async () => {
    await purgeNow(gateway);
    return (await open()) === 0;
  });
});

test('a tenant that is restored while others are purged stays', async (t) => {
  const gateway = await startByHand(t);
  const both = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
  for (const { id } of both) await remove(t, gateway, id);
  const { protection, tenants, database } = gateway.gateway.services;
  const [first, second] = both.map(({ id }) => id).sort() as [string, string];
  await until(async () => (await tenants.get(second))!.purgeAfter!.getTime() < Date.now());
  const halted: string[] = [];
  await protection.purge.run({
    signal: new AbortController().signal,
    async halt(id) {
      halted.push(id);
      // As a replica whose clock is slow allows it.
      if (id === first) await database.system().nativeUpdate(Tenant, second, { deletedAt: null });
    },
    removeElsewhere: async () => {},
  });
  t.deepEqual(halted, [first]);
  t.like(await database.system().findOne(Tenant, second), { deletedAt: null, purgedAt: null, name: 'two' });
});
