import { defineEntity } from '@mikro-orm/core';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { sql } from 'kysely';
import {
  column,
  type Database,
  openDatabase,
  type Registration,
  writes,
} from '../../../foundation/data/database.ts';
import { MAX_BINDINGS } from '../../../foundation/data/drivers/bound-parameters.ts';
import type { PreparingDatabase } from '../../../foundation/data/drivers/statement-cache.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { isWhole } from '../../support/sample.ts';
import { Note, notes, TENANT_A } from './fixtures/notes.ts';

/** Pieces of SQL, of its quoting on all families, and of what MikroORM puts values in for. */
const PIECES = [
  "'",
  "''",
  "\\'",
  "\\'' or 1=1 --",
  "' or 1=1 --",
  "E'",
  "');drop table notes;--",
  '$$',
  '$1',
  ':slug',
  '@x',
  '%',
  '_',

  '?',
  '??',
  '\\?',
  '"',
  '`',
  '\\',
  '\\\\',
  ';',
  '--',
  '#',
  '/*',
  '*/',
  '\n',
  '\r',
  '\t',
  '\x1a',
  '\b',
  '\x7f',
  '\x01',

  'null',
  'default',
  'true',
  '0x41',
  '\\x41',
  '\\u0000',
  '¿',
  'ä',
  '縗',
  '\ufffd',
  '\uffff',
  '👩‍👩‍👧',
  '\u2028',
  '１',
  'ʼ',
];

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: anyCodePoint, maxLength: 3 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join('').toWellFormed().replaceAll('\0', '').slice(0, 40).toWellFormed())
  .filter((text) => text !== '');

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  return database;
}

/**
 * The settings of a server that say how its literals are read, as far from the usual as one database can have them for
 * itself.
 */
async function makeUnusual(fresh: FreshDatabase): Promise<void> {
  if (fresh.family !== 'postgres') return;
  const database = await openDatabase(fresh.options);
  const kysely = database.system().getKysely() as never;
  const name = sql.id(new URL(fresh.options.url as string).pathname.slice(1));
  await sql`alter database ${name} set standard_conforming_strings = off`.execute(kysely);
  await sql`alter database ${name} set escape_string_warning = off`.execute(kysely);
  await database.close();
}

eachDatabase(test, 'every text is stored and found as it is, whatever way it goes', async (t, fresh) => {
  await makeUnusual(fresh);
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  const system = database.system();
  const pair = fc.tuple(hostile, hostile).filter(([slug, other]) => slug !== other);
  await fc.assert(
    fc.asyncProperty(pair, hostile, async ([slug, other], text) => {
      await system.nativeDelete(Note, {});
      await a.insert(Note, { id: '1', slug, text });
      await system.insert(Note, { id: '2', slug: other, text: '', tenantId: TENANT_A, views: 1 });
      const found = async (where: object) => (await a.find(Note, where)).map(({ id }) => id).join();
      t.deepEqual(
        await a.findOne(Note, { slug }, { fields: ['slug', 'text'] }).then((n) => [n?.slug, n?.text]),
        [slug, text],
      );
      t.is(await found({ slug: { $in: [slug] } }), '1');
      t.is(await found({ $or: [{ slug: other }, { text: `${text}x` }] }), '2');
      t.is(await found({ $not: { slug } }), '2');
      t.is((await a.rows(Note, { slug }, { limit: 2 })).length, 1);
      await a.upsert(Note, { id: '3', slug, text: `${text}!` }, { conflict: ['slug'] });
      t.is(await a.update(Note, { slug, text: `${text}!` }, { text: other }), 1);
      await a.writeTogether([
        writes.update(Note, { slug }, { text }, { expect: 1 }),
        writes.insert(Note, [{ id: '4', slug: `${slug}+`, text }]),
      ]);
      t.is(await a.increment(Note, { slug }, { views: 2 }), 1);
      const groups = await a.aggregate(Note, { where: { text }, by: ['text'], sum: ['views'] });
      t.deepEqual(groups, [{ text, views: 2, count: 2 }]);
      const shown =
        await sql`select count(*) as n from notes where slug = ${slug} and text = ${text}`.execute(
          system.getKysely() as never,
        );
      t.is(Number((shown.rows[0] as { n: unknown }).n), 1);
      t.is(await a.delete(Note, { slug }), 1);
    }),
    { numRuns: isWhole ? 200 : 40, endOnFailure: true },
  );
});

const UNSTORABLE: Readonly<Record<string, string>> = {
  'U+0000': 'a\0b',
  'U+0000 alone': '\0',
  'the first half of a surrogate pair': 'a\ud800',
  'the second half': '\udc00b',
  'halves in the wrong order': '\udc00\ud800',
};

const WAYS: Readonly<Record<string, (database: Database, text: string) => Promise<unknown>>> = {
  insert: (database, text) => database.forTenant(TENANT_A).insert(Note, { id: '1', slug: text, text: '' }),
  'insert by MikroORM': (database, text) =>
    database.system().insert(Note, { id: '1', slug: 'x', text, tenantId: TENANT_A, views: 0 }),
  'several at once': (database, text) =>
    database
      .forTenant(TENANT_A)
      .writeTogether([
        writes.insert(Note, [{ id: '1', slug: 'x', text: '' }]),
        writes.update(Note, { slug: 'x' }, { text }),
      ]),
  update: (database, text) => database.forTenant(TENANT_A).update(Note, { id: 'kept' }, { text }),
  upsert: (database, text) =>
    database.forTenant(TENANT_A).upsert(Note, { id: '1', slug: text, text: '' }, { conflict: ['slug'] }),
  find: (database, text) => database.forTenant(TENANT_A).find(Note, { slug: text }),
  'find one of': (database, text) => database.forTenant(TENANT_A).find(Note, { slug: { $in: ['x', text] } }),
  rows: (database, text) => database.forTenant(TENANT_A).rows(Note, { slug: text }, { limit: 1 }),
  count: (database, text) => database.forTenant(TENANT_A).count(Note, { $or: [{ slug: text }, { text }] }),
  delete: (database, text) => database.forTenant(TENANT_A).delete(Note, { slug: { $ne: text } }),
  'a statement of SQL': (database, text) =>
    sql`delete from notes where slug <> ${text}`.execute(database.system().getKysely() as never),
};

eachDatabase(
  test,
  'text that not every database keeps is refused before any has seen it',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.forTenant(TENANT_A).insert(Note, { id: 'kept', slug: 'kept', text: 'kept' });
    for (const [way, write] of Object.entries(WAYS)) {
      for (const [title, text] of Object.entries(UNSTORABLE)) {
        await t.throwsAsync(write(database, text), { code: 'database.invalid-value' }, `${way}: ${title}`);
      }
    }
    const left = await database.forTenant(TENANT_A).find(Note, {});
    t.deepEqual(
      left.map(({ slug, text }) => [slug, text]),
      [['kept', 'kept']],
    );
  },
);

const Paper = defineEntity({
  name: 'Paper',
  tableName: 'papers',
  properties: { id: column.id().primary(), tenantId: column.tenant(), json: column.json<unknown>() },
});

const papers: Registration = {
  owner: 'papers',
  entities: [Paper],
  migrations: [
    {
      name: '001-initial',
      up: (schema, types) => [
        schema
          .createTable('papers')
          .addColumn('id', types.id, (is) => is.notNull().primaryKey())
          .addColumn('tenant_id', types.tenant, (is) => is.notNull())
          .addColumn('json', types.json, (is) => is.notNull()),
      ],
    },
  ],
};

eachDatabase(
  test,
  'a text is written into a statement in one piece, and not character by character',
  async (t, fresh) => {
    const platform = (await open(t, fresh)).system().getPlatform();
    const literals = { sqlite: "'it''s'", postgres: " E'it''s'", mysql: "'it''s'" };
    t.is(platform.quoteValue("it's"), literals[fresh.family]);
    if (fresh.family !== 'sqlite')
      t.is(platform.quoteValue('\\n"\n'), literals[fresh.family].replace("it''s", '\\\\n"\n'));
  },
);

eachDatabase(test, 'JSON that a server does not take is a value that cannot be stored', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(papers);
  const a = database.forTenant(TENANT_A);
  const json = { deep: ['a\ud800'] };
  const ways = [
    () => a.insert(Paper, { id: '1', json }),
    () => a.writeTogether([writes.insert(Paper, [{ id: '2', json }])]),
    () => database.system().insert(Paper, { id: '3', json, tenantId: TENANT_A }),
  ];
  for (const way of ways) {
    // SQLite takes any JSON.
    if (fresh.family === 'sqlite') await t.notThrowsAsync(way);
    else await t.throwsAsync(way, { code: 'database.invalid-value' });
  }
  if (fresh.family !== 'mysql') return;
  // A server may speak another language.
  const inGerman = database.transaction(async (entities) => {
    await entities.execute("set session lc_messages = 'de_DE'");
    await entities.insert(Paper, { id: '4', json, tenantId: TENANT_A });
  });
  await t.throwsAsync(inGerman, { code: 'database.invalid-value' });
});

eachDatabase(test, 'more values than SQLite binds are found all the same', async (t, fresh) => {
  const a = (await open(t, fresh)).forTenant(TENANT_A);
  await a.insert(Note, { id: '1', slug: "it's", text: '?' });
  const slugs = Array.from({ length: MAX_BINDINGS + 1 }, (_, n) => `${n}'?`);
  t.is(await a.count(Note, { slug: { $in: [...slugs, "it's"] }, text: '?' }), 1);
});

test('sqlite: no value is in the text of a statement', async (t) => {
  const database = await open(t, (await freshDatabase(t, 'sqlite'))!);
  const connection = database.system().getConnection() as unknown as {
    getNativeClient(): Promise<PreparingDatabase>;
  };
  const native = await connection.getNativeClient();
  const texts: string[] = [];
  const prepare = native.prepare.bind(native);
  native.prepare = (text) => {
    texts.push(text);
    return prepare(text);
  };
  for (const way of Object.values(WAYS)) {
    await database.system().nativeDelete(Note, {});
    await way(database, 'marked');
  }
  t.true(texts.length >= Object.keys(WAYS).length);
  t.deepEqual(
    texts.filter((text) => text.includes('marked') || text.includes(TENANT_A)),
    [],
  );
});
