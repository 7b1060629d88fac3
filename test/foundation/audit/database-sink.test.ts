import test from 'ava';
import type { AuditEntry } from '../../../foundation/audit/audit-entry.ts';
import { createAuditQuery } from '../../../foundation/audit/audit-query.ts';
import { createDatabaseSink } from '../../../foundation/audit/database-sink.ts';
import { type Database, openDatabase } from '../../../foundation/data/database.ts';
import { AuditLog } from '../../../foundation/tables/audit-log.ts';
import { initial } from '../../../foundation/tables/gateway-tables.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';
import { entry, startTrail, tempFolder } from './trail-kit.ts';

const TENANT = '00000000-0000-0000-0000-000000000001';
const OTHER = '00000000-0000-0000-0000-000000000002';
/** Two ids in the order in which they were made. */
const ID_1 = '019b8f00-0000-7000-8000-000000000001';
const ID_2 = '019b8f00-0000-7000-8000-000000000002';
const PAGE = { limit: 50, offset: 0 };

async function withAuditLogs(
  fresh: FreshDatabase,
  use: (database: Database) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(fresh.options);
  try {
    await database.register({ owner: 'kernel', entities: [AuditLog], migrations: [initial] });
    await use(database);
  } finally {
    await database.close();
  }
}

eachDatabase(test, 'what is written is read back as it was', (t, fresh) =>
  withAuditLogs(fresh, async (database) => {
    const full = entry({
      detail: { query: { name: 'Ünï "quoted" \\ \n \'x\' 😀' }, body_fields: ['a'] },
      createdAt: new Date('2026-01-02T03:04:05.678Z'),
      sessionId: 's',
      sourceIp: '2001:db8::1',
      userAgent: 'curl/8 \\0 \'"?',
      errorCode: 'AUTH_FAILED',
      authMethod: 'api_key',
    });
    const bare = entry({ createdAt: new Date('2026-01-01T00:00:00.000Z'), detail: {} });
    await createDatabaseSink(database).write([bare, full]);
    const absent = {
      sessionId: undefined,
      sourceIp: undefined,
      userAgent: undefined,
      errorCode: undefined,
      authMethod: undefined,
    };
    const { records, total } = await createAuditQuery(database).ofTenant(TENANT, {}, PAGE);
    t.deepEqual(records, [full, { ...bare, ...absent }]);
    t.is(total, 2);
  }),
);

eachDatabase(test, 'writing entries again leaves what is there as it is', (t, fresh) =>
  withAuditLogs(fresh, async (database) => {
    const sink = createDatabaseSink(database);
    const [first, second, third] = [entry(), entry(), entry()];
    await sink.write([first, second]);
    await sink.write([{ ...second, action: 'CHANGED' }, third]);
    await Promise.all([sink.write([first, second, third]), sink.write([third, second, first])]);
    const { records, total } = await createAuditQuery(database).ofAll({}, PAGE);
    t.is(total, 3);
    t.deepEqual(new Set(records.map(({ action }) => action)), new Set(['GET /v1/tenants']));
  }),
);

eachDatabase(
  test,
  'text that a database refuses or that is too long does not keep a record out',
  (t, fresh) =>
    withAuditLogs(fresh, async (database) => {
      const wild = entry({
        action: `GET /${'x'.repeat(5_000)}`,
        userAgent: `nul \0 and half \ud83d ${'y'.repeat(600)}`,
        requestId: 'r'.repeat(300),
        detail: { 'na\0me': 'nul \0, half \ud83d, and \\u0000 as text' },
      });
      await createDatabaseSink(database).write([wild]);
      const { records } = await createAuditQuery(database).ofAll({}, PAGE);
      t.is(records[0]?.userAgent?.slice(0, 16), 'nul \ufffd and half \ufffd');
      t.deepEqual(records[0]?.detail, { 'na\ufffdme': 'nul \ufffd, half \ufffd, and \\u0000 as text' });
      t.is(records[0]?.action.length, 2_100);
    }),
);

eachDatabase(
  test,
  'the query filters by action and time, pages newest first, and stays in its tenant',
  (t, fresh) =>
    withAuditLogs(fresh, async (database) => {
      const long = `GET /${'p'.repeat(300)}`;
      const day = (n: number) => new Date(Date.UTC(2026, 0, n));
      const entries: AuditEntry[] = [
        entry({ createdAt: day(1), action: 'GET /a' }),
        entry({ createdAt: day(2), action: 'GET /a', tenantId: OTHER }),
        entry({ createdAt: day(3), action: 'GET /A' }),
        entry({ createdAt: day(4), action: `${long}1` }),
        entry({ createdAt: day(5), action: `${long}2`, tenantId: '' }),
        entry({ createdAt: day(6), action: 'GET /a', id: ID_1 }),
        entry({ createdAt: day(6), action: 'GET /a', id: ID_2 }),
      ];
      await createDatabaseSink(database).write(entries);
      const query = createAuditQuery(database);
      const indexes = (page: { records: readonly AuditEntry[] }) =>
        page.records.map(({ id }) => entries.findIndex((one) => one.id === id));
      t.deepEqual(indexes(await query.ofTenant(TENANT, {}, PAGE)), [6, 5, 3, 2, 0]);
      t.deepEqual(indexes(await query.ofTenant(OTHER, {}, PAGE)), [1]);
      t.deepEqual(indexes(await query.ofAll({}, PAGE)), [6, 5, 4, 3, 2, 1, 0]);
      t.deepEqual(indexes(await query.ofAll({ action: 'GET /a' }, PAGE)), [6, 5, 1, 0]);
      t.deepEqual(indexes(await query.ofAll({ action: `${long}2` }, PAGE)), [4]);
      t.deepEqual(indexes(await query.ofAll({ from: day(2), to: day(4) }, PAGE)), [3, 2, 1]);
      t.deepEqual(indexes(await query.ofAll({ from: day(6) }, PAGE)), [6, 5]);
      t.deepEqual(indexes(await query.ofTenant(TENANT, { to: day(3), action: 'GET /a' }, PAGE)), [0]);
      const second = await query.ofAll({}, { limit: 2, offset: 3 });
      t.deepEqual(indexes(second), [3, 2]);
      t.is(second.total, 7);
      t.deepEqual(await query.ofAll({}, { limit: 0, offset: 0 }), { records: [], total: 7 });
    }),
);

eachDatabase(test, 'a large batch is one write, and a page has 500 records at most', (t, fresh) =>
  withAuditLogs(fresh, async (database) => {
    await createDatabaseSink(database).write(Array.from({ length: 700 }, () => entry()));
    const { records, total } = await createAuditQuery(database).ofAll({}, { limit: 10_000, offset: 0 });
    t.is(records.length, 500);
    t.is(total, 700);
  }),
);

eachDatabase(test, 'a trail over the database ends with everything in the table', (t, fresh) =>
  withAuditLogs(fresh, async (database) => {
    const { trail } = startTrail(t, await tempFolder(t), createDatabaseSink(database), { batchSize: 50 });
    const bad = entry({ statusCode: Number.NaN });
    for (let i = 0; i < 120; i += 1) trail.record(entry());
    trail.record(bad);
    for (let i = 0; i < 120; i += 1) trail.record(entry());
    t.true(await trail.flush(20_000));
    t.like(trail.stats(), { written: 240, rejected: 1, lost: 0 });
    t.is((await createAuditQuery(database).ofAll({}, PAGE)).total, 240);
  }),
);
