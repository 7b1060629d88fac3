import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { PersonalData } from '../../../foundation/protection/personal-data.ts';
import type { RetainedRecords } from '../../../foundation/protection/retained-records.ts';
import { PersonalDataPoint, RetentionPoint } from '../../../kernel/api/points.ts';
import { manualClock } from '../../../testing/index.ts';
import { temporaryFolder } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { FORMS, groundOf, startJobs } from './jobs-kit.ts';

const NEVER = new AbortController().signal;
const TABLES = ['runs', 'steps', 'events', 'starts', 'versions'];

type Gateway = Awaited<ReturnType<typeof startJobs>>;

/** What the plugin contributes to a point. */
function contributed<T>({ gateway }: Gateway, point: { readonly id: string }): T {
  const effects = gateway.host.slots.find('execution')!.current!.effects;
  return effects.contributions.find(({ pointId }) => pointId === point.id)!.value as T;
}

for (const form of FORMS) {
  test(`${form.name}: jobs are exported, erased by user and by tenant`, async (t) => {
    const ground = await groundOf(t, form);
    if (ground === undefined) return;
    const gateway = await startJobs(t, ground);
    const { request, makeTenant, post } = gateway;
    const { services } = gateway.gateway;
    const [tenant, other] = [await makeTenant(), await makeTenant()];
    const keyed = await services.apiKeys.create({
      tenantId: tenant.id,
      name: 'bob',
      scopes: [],
      expiresAt: null,
      createdBy: null,
      roles: ['user'],
    });
    const body = { graph_name: 'test/ask', input: { word: 'tea' } };
    for (const token of [tenant.token, keyed.key, other.token]) await post('/jobs', body, { token });
    await post('/jobs', body, { token: tenant.token, headers: { 'x-svc-user-id': 'ada' } });
    const listed = async ({ token }: { readonly token: string }) =>
      (await request('/jobs', { token })).body.total;
    const data = contributed<PersonalData>(gateway, PersonalDataPoint);
    const exported = async (userId?: string) => {
      const records: Record<string, unknown>[] = [];
      const [jobs] = data.sections;
      for await (const one of jobs!.read({ tenantId: tenant.id, userId, signal: NEVER })) records.push(one);
      return records;
    };
    const all = await exported();
    t.is(all.length, 3);
    t.like(all[0], { graph_name: 'test/ask', status: 'waiting', input: { word: 'tea' } });
    t.true((all[0]!.events as unknown[]).length > 2 && (all[0]!.steps as unknown[]).length === 2);
    t.is((await exported(keyed.record.id)).length, 1);
    t.like(await exported('ada'), [{ user_id: 'ada' }]);

    const erase = (userId?: string) =>
      services.database
        .forTenant(tenant.id)
        .transaction((inside) => data.erase(inside, { userId, pseudonym: 'erased-x' }));
    await data.halt!({ tenantId: tenant.id }, NEVER);
    await erase(keyed.record.id);
    await until(async () => (await listed(tenant)) === 2, 20_000);
    await erase('ada');
    await until(async () => (await listed(tenant)) === 1, 20_000);
    await erase();
    await until(async () => (await listed(tenant)) === 0, 20_000);
    t.deepEqual(await exported(), []);
    t.is(await listed(other), 1);
  });

  test(`${form.name}: jobs that have ended go when they are old, others stay`, async (t) => {
    const ground = await groundOf(t, form);
    if (ground === undefined) return;
    const gateway = await startJobs(t, ground);
    const kind = contributed<RetainedRecords>(gateway, RetentionPoint);
    const { start, reaches, makeTenant, read } = gateway;
    t.is(kind.keptFor !== undefined, form.name.includes('memory'));
    const { id: unused } = await makeTenant();
    t.is(await kind.count(unused), 0);
    const tenantId = '00000000-0000-0000-0000-000000000001';
    const done = await start('test/empty');
    const failed = await start('test/fails');
    const waiting = await start('test/ask');
    await Promise.all([reaches(done, 'completed'), reaches(failed, 'failed'), reaches(waiting, 'waiting')]);
    const later = new Date(Date.now() + 3_600_000);
    t.is((await kind.sizes()).get(tenantId), 3);
    t.is(await kind.count(tenantId, later), 2);
    t.is(await kind.count(tenantId, new Date(0)), 0);
    let deleted = 0;
    for await (const count of kind.deleteBefore(tenantId, later, NEVER)) deleted += count;
    t.is(deleted, 2);
    t.is((await read(done)).status, 404);
    t.is((await read(waiting)).status, 'waiting');
  });
}

test('jobs in SQLite’s own “:memory:” are kept as those in memory are', async (t) => {
  const gateway = await startJobs(t, { env: { SVC_SQLITE_DB: ':memory:' } });
  t.is(contributed<RetainedRecords>(gateway, RetentionPoint).keptFor, 86_400_000);
  await gateway.reaches(await gateway.start('test/empty'), 'completed');
});

test('replicas with jobs of their own erase them with one of them', async (t) => {
  const ground = await groundOf(t, { family: 'postgres', file: false, env: {} });
  if (ground === undefined) return;
  const [one, two] = [await startJobs(t, ground), await startJobs(t, ground)];
  // Has no database of jobs: none was asked of it.
  const idle = await startJobs(t, ground);
  const { id: tenantId, token } = await one.makeTenant();
  const listed = async ({ request }: Gateway) => (await request('/jobs', { token })).body.total;
  for (const { post } of [one, two])
    for (const user of ['ada', 'bob'])
      await post(
        '/jobs',
        { graph_name: 'test/ask', input: {} },
        { token, headers: { 'x-svc-user-id': user } },
      );
  t.deepEqual([await listed(one), await listed(two)], [2, 2]);
  const erase = (by: Gateway, userId: string) => {
    const data = contributed<PersonalData>(by, PersonalDataPoint);
    return by.gateway.services.database
      .forTenant(tenantId)
      .transaction((inside) => data.erase(inside, { userId, pseudonym: 'erased-x' }));
  };
  await erase(one, 'ada');
  await until(async () => (await listed(one)) === 1 && (await listed(two)) === 1, 20_000);
  await erase(idle, 'bob');
  await until(async () => (await listed(one)) === 0 && (await listed(two)) === 0, 20_000);
  t.pass();
});

test('each replica deletes jobs of its own when they are old', async (t) => {
  const ground = await groundOf(t, { family: 'postgres', file: false, env: {} });
  if (ground === undefined) return;
  const clock = manualClock(Date.now());
  const env = { ...ground.env, SVC_RETENTION_INTERVAL: '1s' };
  const replicas = [
    await startJobs(t, { ...ground, env, clock }),
    await startJobs(t, { ...ground, env, clock }),
  ];
  for (const { start, reaches } of replicas) await reaches(await start('test/empty'), 'completed');
  const kinds = replicas.map((one) => contributed<RetainedRecords>(one, RetentionPoint));
  const kept = () => Promise.all(kinds.map(async (kind) => [...(await kind.sizes()).values()]));
  t.deepEqual(await kept(), [[1], [1]]);
  // What one replica does for all would come to each of them in the end.
  const { leases } = replicas[0]!.gateway.services;
  await using _ = await leases.acquire('schedule:records.retention', { strict: true });
  clock.advance(2 * 86_400_000);
  await until(async () => (await kept()).flat().length === 0, 20_000);
  t.pass();
});

test('nothing is left of a purged tenant in a database of jobs, also when it was purged while the plugin was away', async (t) => {
  const file = path.join(await temporaryFolder(t), 'jobs.db');
  const env = { SVC_SQLITE_DB: file, SVC_PURGE_INTERVAL: '1s' };
  const gateway = await startJobs(t, { env });
  const { services } = gateway.gateway;
  const rows = async (tenantId: string) => {
    const counts = await Promise.all(
      TABLES.map(async (table) => {
        const database = new DatabaseSync(file, { readOnly: true });
        const sql = `select count(*) as n from execution_${table} where tenant_id = ?`;
        const row = database.prepare(sql).get(tenantId) as unknown as { readonly n: number };
        database.close();
        return row.n;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const [first, second, kept] = [
    await gateway.makeTenant(),
    await gateway.makeTenant(),
    await gateway.makeTenant(),
  ];
  for (const { token } of [first, second, kept]) {
    const headers = { 'idempotency-key': 'k' };
    await gateway.post('/jobs', { graph_name: 'test/ask' }, { token, headers });
  }
  t.true((await rows(first.id)) > 5);
  await services.tenants.scheduleDelete(first.id, new Date());
  await until(async () => (await rows(first.id)) === 0, 30_000);

  t.is((await gateway.post('/admin/v1/plugins/execution/disable')).status, 200);
  await services.tenants.scheduleDelete(second.id, new Date());
  await until(async () => (await services.tenants.get(second.id))?.purgedAt != null, 30_000);
  t.true((await rows(second.id)) > 5);
  t.is((await gateway.post('/admin/v1/plugins/execution/enable')).status, 200);
  await until(async () => (await rows(second.id)) === 0, 30_000);
  t.true((await rows(kept.id)) > 5);
});
