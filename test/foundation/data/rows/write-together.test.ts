import test, { type ExecutionContext } from 'ava';
import { type Database, openDatabase, writes } from '../../../../foundation/data/database.ts';
import { isUniqueViolation } from '../../../../foundation/data/errors.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { Note, notes, seed, TENANT_A, TENANT_B } from '../fixtures/notes.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  return database;
}

const row = (id: string) => ({ id, slug: id, text: 'new', views: 0 });

const all = (database: Database, tenant: string) =>
  database.forTenant(tenant).rows(Note, {}, { fields: ['id', 'views'], orderBy: { id: 'asc' }, limit: 99 });

eachDatabase(test, 'writes that all match are done', async (t, fresh) => {
  const database = await open(t, fresh);
  const stored = await database
    .forTenant(TENANT_A)
    .writeTogether([
      writes.update(Note, { id: 'a1', views: 1 }, { views: 2 }, { expect: 1 }),
      writes.insert(Note, [row('n1'), row('n2')]),
      writes.insert(Note, []),
      writes.update(Note, { id: { $in: ['n1', 'n2'] } }, { views: 7 }, { expect: 2 }),
      writes.update(Note, { id: 'nobody' }, { views: 9 }),
    ]);
  t.true(stored);
  t.deepEqual(await all(database, TENANT_A), [
    { id: 'a1', views: 2 },
    { id: 'n1', views: 7 },
    { id: 'n2', views: 7 },
  ]);
});

eachDatabase(test, 'nothing is written when one of them matches another number of rows', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  for (const expect of [0, 2]) {
    const stored = await a.writeTogether([
      writes.insert(Note, [row('n1')]),
      writes.update(Note, { id: 'a1' }, { views: 5 }, { expect }),
      writes.insert(Note, [row('n2')]),
    ]);
    t.false(stored);
  }
  t.deepEqual(await all(database, TENANT_A), [{ id: 'a1', views: 1 }]);
  t.true(await a.writeTogether([writes.insert(Note, [row('n3')])]), 'the connection is of use afterwards');
  t.true(await a.writeTogether([]));
});

eachDatabase(test, 'nothing is written when one of them fails', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  const failure = await t.throwsAsync(
    a.writeTogether([
      writes.update(Note, { id: 'a1' }, { views: 5 }, { expect: 1 }),
      writes.insert(Note, [row('a1')]),
    ]),
  );
  t.true(isUniqueViolation(failure));
  t.deepEqual(await all(database, TENANT_A), [{ id: 'a1', views: 1 }]);
});

eachDatabase(test, 'inside a transaction they are part of it', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await a.transaction(async (tx) => {
    t.true(await tx.writeTogether([writes.insert(Note, [row('n1')])]));
  });
  const undone = a.transaction(async (tx) => {
    await tx.insert(Note, row('n2'));
    if (!(await tx.writeTogether([writes.update(Note, { id: 'x' }, { views: 1 }, { expect: 1 })])))
      throw new Error('moved on');
  });
  await t.throwsAsync(undone, { message: 'moved on' });
  t.deepEqual(
    (await all(database, TENANT_A)).map(({ id }) => id),
    ['a1', 'n1'],
  );
});

eachDatabase(test, 'they do not leave the tenant', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  t.false(await a.writeTogether([writes.update(Note, { id: 'b1' }, { views: 5 }, { expect: 1 })]));
  t.true(await a.writeTogether([writes.update(Note, { id: 'b1' }, { views: 5 })]));
  await t.throwsAsync(a.writeTogether([writes.insert(Note, [{ ...row('n1'), tenantId: TENANT_B }])]), {
    name: 'DatabaseDefect',
  });
  await t.throwsAsync(a.writeTogether([writes.update(Note, { id: 'a1' }, { tenantId: TENANT_B })]), {
    name: 'DatabaseDefect',
  });
  const foreign = { tenant_id: TENANT_B } as object;
  await t.throwsAsync(a.writeTogether([writes.update(Note, { id: 'a1' }, foreign)]), {
    name: 'DatabaseDefect',
  });
  t.deepEqual(await all(database, TENANT_B), [{ id: 'b1', views: 1 }]);
});

eachDatabase(test, 'of writers that expect the same state one wins', async (t, fresh) => {
  const database = await open(t, fresh);
  const attempts = Array.from({ length: 20 }, (_, n) =>
    database
      .forTenant(TENANT_A)
      .writeTogether([
        writes.update(Note, { id: 'a1', views: 1 }, { views: 2 }, { expect: 1 }),
        writes.insert(Note, [row(`w${n}`)]),
      ]),
  );
  const won = (await Promise.all(attempts)).filter(Boolean);
  t.is(won.length, 1);
  t.is((await all(database, TENANT_A)).length, 2);
});
