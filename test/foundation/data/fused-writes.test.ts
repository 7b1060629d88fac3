import test, { type ExecutionContext } from 'ava';
import { CompiledQuery } from 'kysely';
import { type Database, openDatabase, writes } from '../../../foundation/data/database.ts';
import { freshDatabase } from '../../support/databases.ts';
import { Note, notes, seed, TENANT_A, TENANT_B } from './fixtures/notes.ts';

/** A database with one connection, so that its plans can be looked at. */
async function single(t: ExecutionContext) {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return undefined;
  const database = await openDatabase({ ...fresh.options, pool: { max: 1 } });
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  const ask = async (sql: string) => {
    const kysely = database.system().getKysely();
    const { rows } = await kysely.executeQuery(CompiledQuery.raw(sql));
    return rows as Record<string, unknown>[];
  };
  return { database, ask, planned: () => ask('select statement from pg_prepared_statements') };
}

const row = (id: string) => ({ id, slug: id, text: 'new', views: 0 });

/** Writes that come again and again. */
const book = (database: Database, tenant: string, from: number, id: string) =>
  database
    .forTenant(tenant)
    .writeTogether([
      writes.update(
        Note,
        { id: tenant === TENANT_A ? 'a1' : 'b1', views: from },
        { views: from + 1 },
        { expect: 1 },
      ),
      writes.insert(Note, [row(id)]),
    ]);

const ids = async (database: Database, tenant: string) => {
  const rows = await database
    .forTenant(tenant)
    .rows(Note, {}, { fields: ['id'], orderBy: { id: 'asc' }, limit: 99 });
  return rows.map(({ id }) => id);
};

test('writes that come often are planned once, and mean the same', async (t) => {
  const { database, planned } = (await single(t)) ?? {};
  if (database === undefined || planned === undefined) return;
  t.deepEqual(await planned(), []);
  for (let n = 1; n <= 8; n += 1) t.true(await book(database, TENANT_A, n, `n${n}`));
  t.is((await planned()).length, 2, 'the update, the insert');
  t.false(await book(database, TENANT_A, 1, 'never'));
  t.false((await ids(database, TENANT_A)).includes('never'));
  t.true(await book(database, TENANT_A, 9, 'n9'));
});

test('a plan that one tenant made shows and changes nothing of another', async (t) => {
  const { database } = (await single(t)) ?? {};
  if (database === undefined) return;
  for (let n = 1; n <= 8; n += 1) {
    t.true(await book(database, TENANT_A, n, `a-${n}`));
    t.true(await book(database, TENANT_B, n, `b-${n}`));
  }
  const touch = (tenant: string, id: string) =>
    database.forTenant(tenant).writeTogether([writes.update(Note, { id }, { views: 0 }, { expect: 1 })]);
  for (let n = 0; n < 4; n += 1) {
    t.true(await touch(TENANT_A, 'a1'));
    t.false(await touch(TENANT_B, 'a1'));
    t.true(await touch(TENANT_B, 'b1'));
  }
  t.true((await ids(database, TENANT_A)).every((id) => id.startsWith('a')));
  t.is((await ids(database, TENANT_B)).filter((id) => id.startsWith('b-')).length, 8);
});

test('whoever forgets the plans on the server, as a pooler does, loses no write', async (t) => {
  const { database, ask, planned } = (await single(t)) ?? {};
  if (database === undefined || ask === undefined || planned === undefined) return;
  for (let n = 1; n <= 5; n += 1) t.true(await book(database, TENANT_A, n, `n${n}`));
  await ask('deallocate all');
  for (let n = 6; n <= 12; n += 1) t.true(await book(database, TENANT_A, n, `n${n}`));
  t.deepEqual(await planned(), []);
  t.is((await ids(database, TENANT_A)).filter((id) => id.startsWith('n')).length, 12);
});

test('a change of the table does not confuse what was planned before it', async (t) => {
  const { database, ask } = (await single(t)) ?? {};
  if (database === undefined || ask === undefined) return;
  for (let n = 1; n <= 5; n += 1) t.true(await book(database, TENANT_A, n, `n${n}`));
  await ask('alter table notes add column more integer not null default 7');
  for (let n = 6; n <= 8; n += 1) t.true(await book(database, TENANT_A, n, `n${n}`));
});

test('a number that is none of the column matches nothing, rather than the nearest', async (t) => {
  const { database } = (await single(t)) ?? {};
  if (database === undefined) return;
  const touch = (views: number) =>
    database
      .forTenant(TENANT_A)
      .writeTogether([writes.update(Note, { id: 'a1', views }, { views: 1 }, { expect: 1 })]);
  for (let n = 0; n < 5; n += 1) t.true(await touch(1));
  for (const views of [1.2, 0.9, 1e300, 2 ** 31, -(2 ** 40)]) t.false(await touch(views), String(views));
});
