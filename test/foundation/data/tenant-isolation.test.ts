import { type EntityName, raw } from '@mikro-orm/core';
import test, { type ExecutionContext } from 'ava';
import { type Database, DatabaseDefect, openDatabase } from '../../../foundation/data/database.ts';
import type { DatabaseRule } from '../../../foundation/data/errors.ts';
import { withRetries } from '../../../foundation/data/retry.ts';
import type { TenantEntityManager } from '../../../foundation/data/tenant-entity-manager.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { Tenant } from '../../../foundation/tables/tenant.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';
import { Comment, Note, notes, Price, seed, TENANT_A, TENANT_B } from './fixtures/notes.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  await database.register(notes);
  await seed(database);
  return database;
}

/** The whole table, past every binding. */
const stored = (database: Database) => database.system().find(Note, {}, { orderBy: { id: 'asc' } });

interface Attempt {
  readonly title: string;
  run(a: TenantEntityManager): Promise<unknown>;
  /** What A gets; for writes, how many rows were touched. */
  readonly gets: unknown;
}

const foreign = { id: 'b1' } as const;

const HARMLESS: readonly Attempt[] = [
  { title: 'find', run: async (a) => (await a.find(Note, {})).map(({ id }) => id), gets: ['a1'] },
  { title: 'find by a foreign id', run: (a) => a.find(Note, foreign), gets: [] },
  { title: 'find by the foreign tenant', run: (a) => a.find(Note, { tenantId: TENANT_B }), gets: [] },
  {
    title: 'find with $or',
    run: async (a) => (await a.find(Note, { $or: [{ id: 'a1' }, foreign] })).length,
    gets: 1,
  },
  { title: 'find with $not', run: async (a) => (await a.find(Note, { $not: { id: 'a1' } })).length, gets: 0 },
  {
    title: 'find with filters turned off by force',
    run: async (a) => (await a.find(Note, {}, { filters: false } as never)).length,
    gets: 1,
  },
  { title: 'findOne', run: (a) => a.findOne(Note, foreign), gets: null },
  { title: 'findAndCount', run: async (a) => (await a.findAndCount(Note, {}))[1], gets: 1 },
  { title: 'count', run: (a) => a.count(Note), gets: 1 },
  {
    title: 'rows',
    run: async (a) => (await a.rows(Note, {}, { limit: 9 })).map(({ id }) => id),
    gets: ['a1'],
  },
  { title: 'rows by a foreign id', run: (a) => a.rows(Note, foreign, { limit: 9 }), gets: [] },
  {
    title: 'rows by the foreign tenant',
    run: (a) => a.rows(Note, { tenantId: TENANT_B }, { limit: 9 }),
    gets: [],
  },
  {
    title: 'rows by two tenants',
    run: async (a) =>
      (await a.rows(Note, { tenantId: { $in: [TENANT_A, TENANT_B] } }, { limit: 9 })).map(({ id }) => id),
    gets: ['a1'],
  },
  { title: 'count of a foreign id', run: (a) => a.count(Note, foreign), gets: 0 },
  {
    title: 'aggregate',
    run: (a) => a.aggregate(Note, { where: {}, by: ['slug'], sum: ['views'] }),
    gets: [{ slug: 'first', views: 1, count: 1 }],
  },
  {
    title: 'aggregate with $or',
    run: async (a) => (await a.aggregate(Note, { where: { $or: [{ id: 'a1' }, foreign] } }))[0]?.count,
    gets: 1,
  },
  { title: 'update', run: (a) => a.update(Note, foreign, { text: 'mine' }), gets: 0 },
  {
    title: 'update by the foreign tenant',
    run: (a) => a.update(Note, { tenantId: TENANT_B }, { text: 'mine' }),
    gets: 0,
  },
  { title: 'increment', run: (a) => a.increment(Note, foreign, { views: 1 }), gets: 0 },
  { title: 'delete', run: (a) => a.delete(Note, foreign), gets: 0 },
  {
    title: 'populate',
    run: async (a) => (await a.find(Comment, {}, { populate: ['note'] })).map((comment) => comment.note.text),
    gets: ['of a'],
  },
];

eachDatabase(test, 'every verb stays inside the tenant', async (t, fresh) => {
  const database = await open(t, fresh);
  const before = JSON.stringify(await stored(database));
  for (const { title, run, gets } of HARMLESS) {
    t.deepEqual(await run(database.forTenant(TENANT_A)), gets, title);
    t.is(JSON.stringify(await stored(database)), before, title);
  }
});

interface Refusal {
  readonly title: string;
  readonly rule: DatabaseRule;
  run(a: TenantEntityManager): Promise<unknown>;
}

const row = { id: 'n2', slug: 'second', text: 'x', views: 0 };

const REFUSED: readonly Refusal[] = [
  {
    title: 'insert for another tenant',
    rule: 'foreign-tenant',
    run: (a) => a.insert(Note, { ...row, tenantId: TENANT_B }),
  },
  {
    title: 'insertMany with one row for another tenant',
    rule: 'foreign-tenant',
    run: (a) => a.insertMany(Note, [row, { ...row, id: 'n3', slug: 'third', tenantId: TENANT_B }]),
  },
  {
    title: 'upsert for another tenant',
    rule: 'foreign-tenant',
    run: (a) => a.upsert(Note, { ...row, tenantId: TENANT_B }, { conflict: ['slug'] }),
  },
  {
    title: 'upsert by a key without the tenant',
    rule: 'unique-key',
    run: (a) => a.upsert(Note, { ...row, id: 'b1' }, { conflict: ['id'] }),
  },
  {
    title: 'update of the tenant',
    rule: 'foreign-tenant',
    run: (a) => a.update(Note, { id: 'a1' }, { tenantId: TENANT_B }),
  },
  {
    title: 'insert with the tenant by the name of its column',
    rule: 'unknown-property',
    run: (a) => a.insert(Note, { tenant_id: TENANT_B, ...row } as never),
  },
  {
    title: 'upsert with the tenant by the name of its column',
    rule: 'unknown-property',
    run: (a) => a.upsert(Note, { tenant_id: TENANT_B, ...row } as never, { conflict: ['slug'] }),
  },
  {
    title: 'update of the tenant by the name of its column',
    rule: 'unknown-property',
    run: (a) => a.update(Note, { id: 'a1' }, { tenant_id: TENANT_B } as never),
  },
  {
    title: 'increment together with the tenant by the name of its column',
    rule: 'unknown-property',
    run: (a) => a.increment(Note, { id: 'a1' }, { views: 1 }, { tenant_id: TENANT_B } as never),
  },
  {
    title: 'increment together with the tenant',
    rule: 'foreign-tenant',
    run: (a) => a.increment(Note, { id: 'a1' }, { views: 1 }, { tenantId: TENANT_B }),
  },
  {
    title: 'a reference to a foreign row in insert',
    rule: 'foreign-tenant',
    run: (a) => a.insert(Comment, { id: 'c2', note: 'b1', text: 'x' }),
  },
  {
    title: 'a reference to a foreign row in update',
    rule: 'foreign-tenant',
    run: (a) => a.update(Comment, { id: 'ac' }, { note: 'b1' }),
  },
  { title: 'raw SQL as a value', rule: 'raw-sql', run: (a) => a.find(Note, { id: raw(`'x' or 1 = 1`) }) },
  { title: 'raw SQL as a key', rule: 'raw-sql', run: (a) => a.find(Note, { [raw('1 = 1) or (1')]: 1 }) },
  {
    title: 'raw SQL deep inside',
    rule: 'raw-sql',
    run: (a) => a.count(Note, { $or: [{ $and: [{ [raw('1')]: 1 }] }] }),
  },
  {
    title: 'raw SQL in an update',
    rule: 'raw-sql',
    run: (a) => a.update(Note, {}, { text: raw('(select 1)') as never }),
  },
  {
    title: 'raw SQL in an insert',
    rule: 'raw-sql',
    run: (a) => a.insert(Note, { ...row, text: raw('(select 1)') as never }),
  },
  {
    title: 'raw SQL in an order',
    rule: 'raw-sql',
    run: (a) => a.find(Note, {}, { orderBy: { [raw('(select 1)')]: 'asc' } as never }),
  },
  {
    title: 'raw SQL in the condition of rows',
    rule: 'raw-sql',
    run: (a) => a.rows(Note, { id: raw(`'x' or 1 = 1`) } as never, { limit: 9 }),
  },
  {
    title: 'raw SQL as a key of rows',
    rule: 'raw-sql',
    run: (a) => a.rows(Note, { [raw('1 = 1) or (1')]: 1 } as never, { limit: 9 }),
  },
  {
    title: 'raw SQL in the order of rows',
    rule: 'raw-sql',
    run: (a) => a.rows(Note, {}, { orderBy: { [raw('(select 1)')]: 'asc' } as never, limit: 9 }),
  },
  {
    title: 'SQL as the direction of rows',
    rule: 'plain-rows',
    run: (a) => a.rows(Note, {}, { orderBy: { id: 'asc; drop table notes' as never }, limit: 9 }),
  },
  {
    title: 'SQL as a field of rows',
    rule: 'plain-rows',
    run: (a) => a.rows(Note, {}, { fields: ['id" from notes --' as never], limit: 9 }),
  },
  {
    title: 'SQL as the limit of rows',
    rule: 'plain-rows',
    run: (a) => a.rows(Note, {}, { limit: '9 union all select 1' as never }),
  },
  {
    title: 'an undefined condition of rows',
    rule: 'plain-rows',
    run: (a) => a.rows(Note, { id: undefined } as never, { limit: 9 }),
  },
  {
    title: 'rows by $or',
    rule: 'plain-rows',
    run: (a) => a.rows(Note, { $or: [{ id: 'b1' }] } as never, { limit: 9 }),
  },
  { title: 'rows of a shared entity', rule: 'not-tenant-owned', run: (a) => a.rows(Price, {}, { limit: 9 }) },
  { title: 'rows with relations', rule: 'plain-rows', run: (a) => a.rows(Comment, {}, { limit: 9 }) },
  { title: 'reading a shared entity', rule: 'not-tenant-owned', run: (a) => a.find(Price, {}) },
  {
    title: 'writing a shared entity',
    rule: 'not-tenant-owned',
    run: (a) => a.insert(Price, { id: 'p', amount: '1' } as never),
  },
  {
    title: 'writing the own tenant record',
    rule: 'read-only',
    run: (a) => a.update(Tenant, {}, { plan: 'enterprise' }),
  },
  {
    title: 'an unknown entity',
    rule: 'not-registered',
    run: (a) => a.find('Nothing' as unknown as EntityName<object>, {}),
  },
];

eachDatabase(test, 'every attempt to leave the tenant is refused and changes nothing', async (t, fresh) => {
  const database = await open(t, fresh);
  const before = JSON.stringify(await stored(database));
  for (const { title, rule, run } of REFUSED) {
    const attempt = async () => run(database.forTenant(TENANT_A));
    const error = await t.throwsAsync(attempt, { instanceOf: DatabaseDefect }, title);
    t.is(error?.rule, rule, title);
    t.is(JSON.stringify(await stored(database)), before, title);
  }
});

eachDatabase(test, 'writes get the tenant by themselves', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await a.insert(Note, { ...row, id: 'w1', slug: 'w1' });
  await a.insertMany(Note, [
    { ...row, id: 'w2', slug: 'w2' },
    { ...row, id: 'w3', slug: 'w3' },
  ]);
  await a.upsert(Note, { ...row, id: 'w4', slug: 'w4' }, { conflict: ['slug'] });
  const written = await database.system().find(Note, { id: { $like: 'w%' } });
  t.deepEqual(new Set(written.map(({ tenantId }) => tenantId)), new Set([TENANT_A]));
  t.is(written.length, 4);
});

eachDatabase(test, 'upsert updates the row of the own tenant, and only what it is told', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await a.upsert(
    Note,
    { id: 'other', slug: 'first', text: 'new', views: 7 },
    { conflict: ['slug'], update: ['text'] },
  );
  const [mine, theirs] = await stored(database);
  t.like(mine, { id: 'a1', text: 'new', views: 1 });
  t.like(theirs, { id: 'b1', text: 'of b' });
});

eachDatabase(test, 'upsert never takes over a row of another tenant with the same id', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await t.throwsAsync(a.upsert(Note, { ...row, id: 'b1', slug: 'taken' }, { conflict: ['slug'] }));
  t.like(
    (await stored(database)).find(({ id }) => id === 'b1'),
    { tenantId: TENANT_B, text: 'of b' },
  );
});

eachDatabase(test, 'simultaneous upserts of one key make one row', async (t, fresh) => {
  const database = await open(t, fresh);
  const write = (n: number) =>
    database
      .forTenant(TENANT_A)
      .upsert(Note, { id: `u${n}`, slug: 'same', text: `${n}`, views: 0 }, { conflict: ['slug'] });
  await Promise.all(Array.from({ length: 8 }, (_, n) => write(n)));
  t.is(await database.forTenant(TENANT_A).count(Note, { slug: 'same' }), 1);
});

eachDatabase(test, 'upserts beside deletions of the same row all succeed', async (t, fresh) => {
  const a = (await open(t, fresh)).forTenant(TENANT_A);
  const write = (n: number) =>
    n % 2 === 0
      ? a.upsert(Note, { id: `u${n}`, slug: 'same', text: `${n}`, views: 0 }, { conflict: ['slug'] })
      : withRetries(5, () => a.delete(Note, { slug: 'same' }));
  for (let round = 0; round < 5; round += 1) {
    await t.notThrowsAsync(Promise.all(Array.from({ length: 20 }, (_, n) => write(n))));
  }
});

eachDatabase(test, 'simultaneous increments are all counted', async (t, fresh) => {
  const database = await open(t, fresh);
  const add = () =>
    database.forTenant(TENANT_A).increment(Note, { id: 'a1' }, { views: 2 }, { text: 'seen' });
  await Promise.all(Array.from({ length: 10 }, add));
  t.like(await database.forTenant(TENANT_A).findOne(Note, { id: 'a1' }), { views: 21, text: 'seen' });
});

eachDatabase(test, 'a row that is read is a copy, which changes nothing', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await a.transaction(async (tx) => {
    const note = await tx.findOneOrFail(Note, { id: 'a1' });
    const part = await tx.findOneOrFail(Note, { id: 'a1' }, { fields: ['text'] });
    note.tenantId = TENANT_B;
    (part as { text: string }).text = 'changed';
    await tx.insert(Note, { ...row, id: 'a2', slug: 'a2' });
  });
  t.like(await a.findOneOrFail(Note, { id: 'a1' }), { tenantId: TENANT_A, text: 'of a' });
});

eachDatabase(
  test,
  'new rows may refer to rows of the tenant, by id or as they were read',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const a = database.forTenant(TENANT_A);
    const old = await a.findOneOrFail(Note, { id: 'a1' });
    await a.transaction(async (tx) => {
      await tx.insert(Note, { ...row, id: 'a2', slug: 'a2' });
      await tx.insert(Comment, { id: 'c1', note: 'a2', text: 'on the new one' });
      await tx.insert(Comment, { id: 'c2', note: old, text: 'on the old one' });
    });
    await a.insert(Comment, { id: 'c3', note: 'a2', text: 'by id' });
    t.is(await a.count(Comment), 4);
  },
);

eachDatabase(test, 'a tenant reads its own tenant record and no other', async (t, fresh) => {
  const database = await open(t, fresh);
  t.is((await database.forTenant(DEFAULT_TENANT_ID).find(Tenant, {}))[0]?.name, 'Default Tenant');
  t.deepEqual(await database.forTenant(TENANT_A).find(Tenant, {}), []);
  const own = await database.forTenant(DEFAULT_TENANT_ID).rows(Tenant, {}, { limit: 9 });
  t.deepEqual(
    own.map(({ name }) => name),
    ['Default Tenant'],
  );
  t.deepEqual(await database.forTenant(TENANT_A).rows(Tenant, {}, { limit: 9 }), []);
});

eachDatabase(test, 'the system entity manager sees all tenants', async (t, fresh) => {
  const database = await open(t, fresh);
  t.deepEqual(
    (await stored(database)).map(({ id }) => id),
    ['a1', 'b1'],
  );
});

eachDatabase(
  test,
  'findOneOrFail says that there is nothing, or what it was told to say',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const a = database.forTenant(TENANT_A);
    await t.throwsAsync(a.findOneOrFail(Note, foreign), { code: 'database.not-found' });
    await t.throwsAsync(a.findOneOrFail(Note, foreign, { otherwise: () => new Error('gone') }), {
      message: 'gone',
    });
  },
);

eachDatabase(test, 'there is no entity manager without a tenant', async (t, fresh) => {
  const database = await open(t, fresh);
  t.throws(() => database.forTenant(''), { instanceOf: DatabaseDefect });
});
