import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import {
  column,
  type Database,
  eachRow,
  type Migration,
  openDatabase,
} from '../../../../foundation/data/database.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { planProblems } from '../../../support/query-plans.ts';
import { recordStatements } from '../../../support/statements.ts';
import { TENANT_A, TENANT_B } from '../fixtures/notes.ts';

const Entry = defineEntity({
  name: 'Entry',
  tableName: 'entries',
  indexes: [
    { name: 'entries_tenant', properties: ['tenantId', 'at', 'id'] },
    { name: 'entries_run', properties: ['tenantId', 'run', 'seq'] },
    { name: 'entries_run_alone', properties: ['run', 'seq'] },
  ],
  properties: {
    id: column.string(36).primary(),
    tenantId: column.tenant(),
    at: column.time(),
    run: column.string(36),
    seq: column.integer(),
    text: column.string(255),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('entries')
      .addColumn('id', types.string(36), (is) => is.primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('at', types.time, (is) => is.notNull())
      .addColumn('run', types.string(36), (is) => is.notNull())
      .addColumn('seq', types.integer, (is) => is.notNull())
      .addColumn('text', types.string(255), (is) => is.notNull()),
    schema.createIndex('entries_tenant').on('entries').columns(['tenant_id', 'at', 'id']),
    schema.createIndex('entries_run').on('entries').columns(['tenant_id', 'run', 'seq']),
    schema.createIndex('entries_run_alone').on('entries').columns(['run', 'seq']),
  ],
};

const COUNT = 4_000;
const AT = 1_700_000_000_000;
const at = (n: number) => new Date(AT + n * 1000);
const idOf = (tenant: string, n: number) => `${tenant.slice(-8)}-${String(n).padStart(6, '0')}`;

/** Two tenants with many entries each, of four runs. */
async function setUp(fresh: FreshDatabase, close: (database: Database) => void): Promise<Database> {
  const database = await openDatabase(fresh.options);
  close(database);
  await database.register({ owner: 'entries', entities: [Entry], migrations: [initial] });
  for (const tenant of [TENANT_A, TENANT_B]) {
    const entries = Array.from({ length: COUNT }, (_, n) => ({
      id: idOf(tenant, n),
      at: at(n),
      run: `${tenant.slice(-8)}-${n % 4}`,
      seq: n,
      text: `entry ${n}`.padEnd(200, '.'),
    }));
    await database.forTenant(tenant).insertMany(Entry, entries);
  }
  if (fresh.family !== 'sqlite')
    await fresh.ask(fresh.family === 'mysql' ? 'analyze table entries' : 'analyze');
  return database;
}

const LIMITS = { tables: ['entries'], rows: 100, selective: [] };

eachDatabase(test, 'rows of a tenant before and after a bound are read from it on', async (t, fresh) => {
  const database = await setUp(fresh, (opened) => t.teardown(() => opened.close()));
  const entities = database.forTenant(TENANT_A);
  const record = recordStatements(database);
  const query = { orderBy: { at: 'desc', id: 'desc' }, limit: 20, fields: ['id', 'text'] } as const;
  const before = await entities.rows(Entry, { at: { $lt: at(3_000) } }, query);
  t.deepEqual(
    before.map(({ id }) => id),
    Array.from({ length: 20 }, (_, n) => idOf(TENANT_A, 2_999 - n)),
  );
  const inRun = { run: `${TENANT_A.slice(-8)}-1` };
  const after = await entities.rows(
    Entry,
    { ...inRun, seq: { $gt: 1_000 } },
    { orderBy: { seq: 'asc' }, limit: 20 },
  );
  t.deepEqual(
    after.map(({ seq }) => seq),
    Array.from({ length: 20 }, (_, n) => 1_001 + 4 * n),
  );
  const [page, count] = await entities.page(
    Entry,
    { at: { $gte: at(10), $lt: at(1_000) } },
    { ...query, offset: 600 },
  );
  t.deepEqual(
    page.map(({ id }) => id),
    Array.from({ length: 20 }, (_, n) => idOf(TENANT_A, 399 - n)),
  );
  t.is(count, 990);
  const [first, second] = record.take();
  for (const statement of [first!, second!])
    t.deepEqual(await planProblems(fresh.family, record, statement, LIMITS), []);
});

eachDatabase(test, 'each page of all rows begins where the one before ended', async (t, fresh) => {
  const database = await setUp(fresh, (opened) => t.teardown(() => opened.close()));
  const record = recordStatements(database);
  const found: string[] = [];
  for await (const { id } of eachRow(database.forTenant(TENANT_B), Entry, {}, { by: ['at', 'id'] }))
    found.push(id);
  t.deepEqual(
    found,
    Array.from({ length: COUNT }, (_, n) => idOf(TENANT_B, n)),
  );
  if (fresh.family !== 'mysql') return;
  // After the first page, and what it ends in the middle of.
  const next = record.take()[2]!;
  const [plan] = await record.run({ ...next, sql: `explain ${next.sql}` });
  t.like(plan, { type: 'range', key: 'entries_tenant' });
});
