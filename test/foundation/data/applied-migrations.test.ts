import { randomUUID } from 'node:crypto';
import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { sql } from 'kysely';
import {
  column,
  type Migration,
  openDatabase,
  type Registration,
} from '../../../foundation/data/database.ts';
import { eachDatabase, freshDatabase } from '../../support/databases.ts';
import { TENANT_A } from './fixtures/notes.ts';
import { open } from './fixtures/open.ts';

const ratingOf = (length: number) =>
  defineEntity({
    name: 'Rating',
    tableName: 'ratings',
    properties: { id: column.id().primary(), tenantId: column.tenant(), comment: column.string(length) },
  });
const Rating = ratingOf(100);

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('ratings')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('comment', types.string(100), (is) => is.notNull()),
    schema.createIndex('ratings_comment').on('ratings').columns(['tenant_id', 'comment']),
  ],
};

const feedback: Registration = { owner: 'feedback', entities: [Rating], migrations: [initial] };
const renamed: Registration = { ...feedback, owner: 'feedback2', formerly: ['feedback'] };
const rating = { id: 'r1', tenantId: TENANT_A, comment: 'good' };

const only = (name: string, up: Migration['up']): Registration => ({
  owner: 'feedback',
  entities: [],
  migrations: [{ name, up }],
});

eachDatabase(test, 'a table that is not there, or lacks a column, refuses its entity', async (t, fresh) => {
  const database = await open(t, fresh);
  await t.throwsAsync(database.register({ ...feedback, migrations: [] }), {
    name: 'DatabaseStartError',
    message:
      'The tables of feedback are not as its entities need them: the table ratings of Rating is missing. Write a migration 001-… that changes this',
  });
  await database.register(feedback);
  await fresh.ask(`drop index ratings_comment${fresh.family === 'mysql' ? ' on ratings' : ''}`);
  await fresh.ask('alter table ratings drop column comment');
  await t.throwsAsync(database.register(feedback), {
    message:
      'The tables of feedback are not as its entities need them: ratings has no column comment, which Rating has. Write a migration after 001-initial, called 002-…, that changes this',
  });
});

eachDatabase(
  test,
  'a column that the entity does not write and that has to be written is refused',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(feedback);
    await fresh.ask('drop table ratings');
    await fresh.ask(
      'create table ratings (id varchar(36) not null primary key, tenant_id varchar(36) not null, comment varchar(100) not null, stars integer not null)',
    );
    await t.throwsAsync(database.register(feedback), {
      message: /ratings\.stars takes no null and has no default, and Rating does not write it/,
    });
  },
);

eachDatabase(
  test,
  'a length that is longer than the column is refused where columns have one',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(feedback);
    const longer = { ...feedback, entities: [ratingOf(101)] };
    if (fresh.family === 'sqlite') return void (await t.notThrowsAsync(database.register(longer)));
    await t.throwsAsync(database.register(longer), {
      message: /ratings\.comment takes 100 characters, and Rating up to 101/,
    });
    await t.notThrowsAsync(database.register({ ...feedback, entities: [ratingOf(99)] }));
  },
);

eachDatabase(test, 'what an operator or a newer replica has added refuses nothing', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(feedback);
  const statements = [
    'alter table ratings add column newer integer',
    "alter table ratings add column filled varchar(10) default 'x' not null",
    'create index ratings_own on ratings (newer)',
    'create table of_the_operator (id integer not null)',
  ];
  const numbered = { sqlite: [], postgres: ['integer generated always as identity'], mysql: ['serial'] };
  for (const type of numbered[fresh.family]) statements.push(`alter table ratings add column number ${type}`);
  if (fresh.family === 'postgres') statements.push('alter table ratings alter column comment type text');
  if (fresh.family === 'mysql') statements.push('alter table ratings modify comment varchar(200) not null');
  for (const statement of statements) await fresh.ask(statement);
  await t.notThrowsAsync(database.register(feedback));
  await database.forTenant(TENANT_A).insert(Rating, rating);
  t.is(await database.forTenant(TENANT_A).count(Rating), 1);
});

eachDatabase(
  test,
  'a migration that changed after it was applied is refused, and comes back when it is restored',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(feedback);
    const edited: Migration = {
      name: '001-initial',
      up: (schema, types, queries) => [
        initial.up(schema, types, queries)[0]!,
        schema.createIndex('ratings_comment').on('ratings').columns(['comment']),
      ],
    };
    await t.throwsAsync(database.register({ ...feedback, migrations: [edited] }), {
      message:
        'Migration 001-initial of feedback was changed after it was applied: statement 2 is not the one that was run. Restore it, and write what is to change into a new migration',
    });
    const shorter: Migration = { name: '001-initial', up: (...args) => initial.up(...args).slice(0, 1) };
    await t.throwsAsync(database.register({ ...feedback, migrations: [shorter] }), {
      message: /statement 2 is not/,
    });
    await t.notThrowsAsync(database.register(feedback));
  },
);

eachDatabase(test, 'rows of a journal of before get their hashes at the first sight', async (t, fresh) => {
  const before = await openDatabase(fresh.options);
  await before.register(feedback);
  await before.close();
  await fresh.ask('alter table schema_migrations drop column hashes');
  await fresh.ask('alter table schema_migrations drop column successor');
  await fresh.ask('drop table schema_tables');
  const database = await open(t, fresh);
  await database.register(feedback);
  const [row] = await fresh.ask("select hashes from schema_migrations where owner = 'feedback'");
  t.regex(String(row?.hashes), /^\d+( [0-9a-f]{32}){2}$/);
  t.deepEqual(await fresh.ask('select name, owner from schema_tables'), [
    { name: 'ratings', owner: 'feedback' },
  ]);
  const other: Migration = { name: '001-initial', up: (schema) => [schema.dropTable('ratings')] };
  await t.throwsAsync(database.register({ ...feedback, migrations: [other] }), { message: /was changed/ });
});

eachDatabase(
  test,
  'values, spelling, the time and random texts do not change a migration',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const at = (text: string, value: string) =>
      only('001-initial', (schema, types, queries) => [
        schema.createTable('moments').addColumn('id', types.id).addColumn('at', types.time),
        queries.insertInto('moments').values({ id: value, at: types.value.now }),
        { compile: () => sql.raw(text).compile(queries) },
        { compile: () => sql.raw(`insert into moments (id) values ('${randomUUID()}')`).compile(queries) },
      ]);
    await database.register(at("insert into moments (id) values ('Stays')", 'first'));
    await t.notThrowsAsync(
      database.register(at('INSERT  INTO moments\n ( "id" )VALUES (\'Stays\');', 'second')),
    );
    await t.throwsAsync(database.register(at("insert into moments (id) values ('stays')", 'first')), {
      message: /statement 3/,
    });
  },
);

test('mysql: a migration that stopped half-way goes on only where what was run is still there', async (t) => {
  const fresh = await freshDatabase(t, 'mysql');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  await database.register(feedback);
  const addition = (first: string, second: string): Registration => ({
    ...feedback,
    migrations: [
      initial,
      {
        name: '002-more',
        up: (schema, types) => [
          schema.alterTable('ratings').addColumn(first, types.integer),
          schema.alterTable(second).addColumn('x', types.integer),
        ],
      },
    ],
  });
  await t.throwsAsync(database.register(addition('x1', 'nowhere')), {
    message: /Migration 002-more of feedback failed at statement 2/,
  });
  await t.throwsAsync(database.register(addition('x2', 'ratings')), {
    message:
      "Migration 002-more of feedback was changed after 1 of its statements were run: statement 1 is not the one that was run. Restore it, and the migration goes on with statement 2; or undo by hand what was done, and delete from schema_migrations where owner = 'feedback' and name = '002-more'",
  });
  await t.notThrowsAsync(database.register(addition('x1', 'ratings')));
  const columns = (await fresh.ask('show columns from ratings')).map(({ Field }) => Field);
  t.deepEqual(columns, ['id', 'tenant_id', 'comment', 'x1', 'x']);
});

test('mysql: a statement that was run and not noted is passed over, and one that was written in its place is not', async (t) => {
  const fresh = await freshDatabase(t, 'mysql');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  await database.register(feedback);
  const crash = () => fresh.ask("update schema_migrations set statements = 1 where name = '001-initial'");
  await crash();
  await t.notThrowsAsync(database.register(feedback));
  await crash();
  const other: Migration = {
    name: '001-initial',
    up: (schema, types, queries) => [
      initial.up(schema, types, queries)[0]!,
      schema.createIndex('ratings_comment').on('ratings').columns(['comment']),
    ],
  };
  await t.throwsAsync(database.register({ ...feedback, migrations: [other] }), {
    message: /failed at statement 2/,
  });
});

eachDatabase(
  test,
  'replicas that start at once under a new name take over tables and rows once',
  async (t, fresh) => {
    const before = await open(t, fresh);
    await before.register(feedback);
    await before.forTenant(TENANT_A).insert(Rating, rating);
    const replicas = await Promise.all([open(t, fresh), open(t, fresh), open(t, fresh)]);
    await Promise.all(replicas.map((replica) => replica.register(renamed)));
    for (const replica of replicas) t.is(await replica.forTenant(TENANT_A).count(Rating), 1);
    t.deepEqual(await fresh.ask("select name, owner from schema_tables where name = 'ratings'"), [
      { name: 'ratings', owner: 'feedback2' },
    ]);
    t.deepEqual(
      (await replicas[0]!.tenantTables.list()).map(({ name, owner }) => ({ name, owner })),
      [{ name: 'ratings', owner: 'feedback2' }],
    );
    // A replica of the version before that starts meanwhile finds its migrations done.
    await t.notThrowsAsync((await open(t, fresh)).register(feedback));
    t.like(await before.ownedData('feedback'), { successor: 'feedback2', tables: [], migrations: 0 });
  },
);

eachDatabase(
  test,
  'a new name takes over beside the old one, which may still run in this process',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const old = await database.register(feedback);
    const Next = ratingOf(100);
    await database.register({ ...renamed, entities: [Next] });
    await database.forTenant(TENANT_A).insert(Rating, rating);
    old.release();
    t.is(await database.forTenant(TENANT_A).count(Next), 1);
    const third = { ...renamed, owner: 'feedback3', formerly: ['feedback2', 'feedback'], entities: [Rating] };
    await t.notThrowsAsync(database.register(third));
  },
);

eachDatabase(
  test,
  'a new name that does not say its former one is refused with what to do',
  async (t, fresh) => {
    const stranger = { ...feedback, owner: 'stranger' };
    const database = await open(t, fresh);
    const running = await database.register(feedback);
    const advice =
      "If stranger is feedback under a new name, say so in its definition: formerly: ['feedback']";
    await t.throwsAsync(database.register(stranger), {
      message: 'The entity name Rating is taken by feedback',
    });
    running.release();
    const belongs = `The table ratings, which the migrations of stranger make, is there already and belongs to feedback. ${advice}`;
    await t.throwsAsync(database.register(stranger), { message: belongs });
    await t.throwsAsync((await open(t, fresh)).register(stranger), { message: belongs });
    await t.notThrowsAsync(database.register({ ...stranger, formerly: ['feedback'] }));
  },
);

eachDatabase(
  test,
  'what an owner and its parts have is known, and dropped with nothing else',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(feedback);
    await database.register(renamed);
    await database.register({
      owner: 'feedback2.part',
      entities: [],
      migrations: [
        {
          name: '001-initial',
          up: (schema, types) => [
            schema.createTable('first_part').addColumn('id', types.id, (is) => is.notNull().primaryKey()),
            schema.createTable('part').addColumn('id', types.id, (is) => is.references('first_part.id')),
          ],
        },
      ],
    });
    await database.register({
      ...only('001-initial', (schema, types) => [schema.createTable('others').addColumn('id', types.id)]),
      owner: 'feedback20',
    });
    await database.forTenant(TENANT_A).insert(Rating, rating);
    t.deepEqual(await database.ownedData('feedback2'), {
      tables: [
        { name: 'first_part', rows: 0 },
        { name: 'part', rows: 0 },
        { name: 'ratings', rows: 1 },
      ],
      migrations: 2,
      formerly: ['feedback'],
      successor: undefined,
    });
    await database.dropOwner('feedback2');
    t.like(await database.ownedData('feedback2'), { tables: [], migrations: 0, formerly: [] });
    t.deepEqual(await fresh.ask('select owner from schema_migrations'), [{ owner: 'feedback20' }]);
    t.deepEqual(await fresh.ask('select id from others'), []);
    const anew = await open(t, fresh);
    await anew.register(feedback);
    t.is(await anew.forTenant(TENANT_A).count(Rating), 0);
  },
);
