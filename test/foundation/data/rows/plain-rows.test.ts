import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { type Database, openDatabase, type RowWrite, writes } from '../../../../foundation/data/database.ts';
import type { TenantSource } from '../../../../foundation/data/tenant-source.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../../support/databases.ts';
import { Note, notes, seed, TENANT_A, TENANT_B } from '../fixtures/notes.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  return database;
}

const row = (id: string) => ({ id, slug: id, text: 'new', views: 0 });

eachDatabase(test, 'rows inside a transaction see what it wrote, and others do not', async (t, fresh) => {
  const database = await open(t, fresh);
  const ids = async (em: Pick<ReturnType<Database['forTenant']>, 'rows'>) =>
    (await em.rows(Note, {}, { fields: ['id'], orderBy: { id: 'asc' }, limit: 9 })).map(({ id }) => id);
  await database.forTenant(TENANT_A).transaction(async (tx) => {
    await tx.insert(Note, row('n1'));
    t.deepEqual(await ids(tx), ['a1', 'n1']);
    await tx.upsert(Note, row('n2'), { conflict: ['slug'] });
    t.deepEqual(await ids(tx), ['a1', 'n1', 'n2']);
  });
  t.deepEqual(await ids(database.forTenant(TENANT_A)), ['a1', 'n1', 'n2']);
  t.deepEqual(await ids(database.forTenant(TENANT_B)), ['b1']);
});

eachDatabase(
  test,
  'plain statements and entities share one transaction and its savepoints',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const a = database.forTenant(TENANT_A);
    await a.transaction(async (tx) => {
      await tx.insert(Note, row('n1'));
      await t.throwsAsync(
        tx.transaction(async (inner) => {
          await inner.insert(Note, row('n2'));
          t.is(await inner.update(Note, { id: 'n1' }, { text: 'undone' }), 1);
          throw new Error('no');
        }),
      );
      const note = await tx.findOneOrFail(Note, { id: 'n1' });
      t.is(note.text, 'new');
      await tx.increment(Note, { id: note.id }, { views: 5 });
    });
    const failure = a.transaction(async (tx) => {
      await tx.insert(Note, row('n3'));
      await tx.upsert(Note, row('n4'), { conflict: ['slug'] });
      throw new Error('no');
    });
    await t.throwsAsync(failure, { message: 'no' });
    const read = await a.rows(Note, {}, { fields: ['id', 'views'], orderBy: { id: 'asc' }, limit: 9 });
    t.deepEqual(read, [
      { id: 'a1', views: 1 },
      { id: 'n1', views: 5 },
    ]);
  },
);

eachDatabase(test, 'a row that is read is the reader’s own', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  const [first] = await a.rows(Note, { id: 'a1' }, { limit: 1 });
  t.deepEqual(first, { id: 'a1', tenantId: TENANT_A, slug: 'first', text: 'of a', views: 1 });
  if (first !== undefined) first.text = 'changed';
  t.is((await a.rows(Note, { id: 'a1' }, { limit: 1 }))[0]?.text, 'of a');
  await a.transaction(async (tx) => {
    const found = await tx.findOneOrFail(Note, { id: 'a1' });
    found.text = 'changed';
    t.is((await tx.findOneOrFail(Note, { id: 'a1' })).text, 'of a');
  });
  t.is((await a.findOneOrFail(Note, { id: 'a1' })).text, 'of a');
});

eachDatabase(test, 'of simultaneous compare-and-set updates one wins', async (t, fresh) => {
  const database = await open(t, fresh);
  const attempt = (n: number) =>
    database.forTenant(TENANT_A).update(Note, { id: 'a1', views: 1 }, { views: 2, text: `${n}` });
  const matched = await Promise.all(Array.from({ length: 8 }, (_, n) => attempt(n)));
  t.deepEqual(matched.toSorted(), [0, 0, 0, 0, 0, 0, 0, 1]);
});

eachDatabase(test, 'an update to the values that are there has matched', async (t, fresh) => {
  const database = await open(t, fresh);
  t.is(await database.forTenant(TENANT_A).update(Note, { id: 'a1' }, { views: 1 }), 1);
});

eachDatabase(test, 'a closed database is unavailable for plain statements too', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await database.close();
  await t.throwsAsync(a.rows(Note, {}, { limit: 1 }), { code: 'database.unavailable' });
  await t.throwsAsync(a.insert(Note, row('n1')), { code: 'database.unavailable' });
  await t.throwsAsync(
    a.transaction(async () => {}),
    { code: 'database.unavailable' },
  );
});

eachDatabase(test, 'a plain statement inside a foreign transaction is refused', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  const attempt = a.transaction(async () => {
    await a.insert(Note, row('n1'));
  });
  await t.throwsAsync(attempt, { message: /second connection/ });
});

eachDatabase(test, 'many rows are written in one statement', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_B);
  const many = Array.from({ length: 7_000 }, (_, n) => row(`m${n}`));
  await a.insertMany(Note, many);
  const ids = many.map(({ id }) => id);
  t.is((await a.rows(Note, { id: { $in: ids } }, { fields: ['id'], limit: 9_000 })).length, many.length);
});

test('postgres: row-level security holds plain statements back that nobody has bound', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  const source = database as unknown as TenantSource;
  const meta = source.metadata(Note) as Parameters<TenantSource['plainRows']['select']>[0];
  const place = source.place(TENANT_A, undefined);
  const all = { limit: 9, fields: ['id'] } as never;
  t.deepEqual(await source.plainRows.select(meta, {}, { id: { $ne: '' } }, all, place), [{ id: 'a1' }]);
  const unbound = (write: RowWrite) => source.plainRows.run(source.plainRows.ready(meta, {}, write)!, place);
  t.is(await unbound(writes.update(Note, { id: 'b1' }, { text: 'mine' })), 0);
  await t.throwsAsync(unbound(writes.insert(Note, [{ ...row('n1'), tenantId: TENANT_B }])), {
    message: /row-level security policy/,
  });
});

eachDatabase(test, 'the log of statements shows no values', async (t, fresh) => {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => lines.push(line) });
  const database = await open(t, { ...fresh, options: { ...fresh.options, log } });
  lines.length = 0;
  const a = database.forTenant(TENANT_A);
  await a.insert(Note, { ...row('n1'), text: 'confidential' });
  await a.update(Note, { text: 'confidential' }, { views: 3 });
  await a.rows(Note, { text: 'confidential' }, { limit: 1 });
  const logged = lines.join('');
  for (const verb of ['insert into', 'update', 'select']) t.true(logged.includes(`${verb} `), verb);
  t.false(logged.includes('confidential'));
});
