import { fork } from 'node:child_process';
import { once } from 'node:events';
import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { sql } from 'kysely';
import pino from 'pino';
import {
  column,
  type Migration,
  openDatabase,
  type Registration,
  reachDatabase,
} from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { Tenant } from '../../../foundation/tables/tenant.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { eachDatabase, freshDatabase } from '../../support/databases.ts';
import { Note, notes, TENANT_A } from './fixtures/notes.ts';

/** Every kind of column, with and without a value. */
const Sample = defineEntity({
  name: 'Sample',
  tableName: 'samples',
  indexes: [{ name: 'samples_time', properties: ['tenantId', 'time'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    string: column.string(40),
    text: column.text(),
    json: column.json<{ readonly list: readonly number[]; readonly name: string }>(),
    time: column.time(),
    boolean: column.boolean(),
    integer: column.integer(),
    bigint: column.bigint(),
    decimal: column.decimal(20, 6),
    double: column.double(),
    blob: column.blob(),
    maybeJson: column.json<unknown>().strictNullable(),
    maybeTime: column.time().strictNullable(),
    maybeBlob: column.blob().strictNullable(),
    flag: column.boolean().default(false),
  },
});

const samples: Registration = {
  owner: 'samples',
  entities: [Sample],
  migrations: [
    {
      name: '001-initial',
      up: (schema, types) => [
        schema
          .createTable('samples')
          .addColumn('id', types.id, (is) => is.notNull().primaryKey())
          .addColumn('tenant_id', types.tenant, (is) => is.notNull())
          .addColumn('string', types.string(40), (is) => is.notNull())
          .addColumn('text', types.text, (is) => is.notNull())
          .addColumn('json', types.json, (is) => is.notNull())
          .addColumn('time', types.time, (is) => is.notNull())
          .addColumn('boolean', types.boolean, (is) => is.notNull())
          .addColumn('integer', types.integer, (is) => is.notNull())
          .addColumn('bigint', types.bigint, (is) => is.notNull())
          .addColumn('decimal', types.decimal(20, 6), (is) => is.notNull())
          .addColumn('double', types.double, (is) => is.notNull())
          .addColumn('blob', types.blob, (is) => is.notNull())
          .addColumn('maybe_json', types.json)
          .addColumn('maybe_time', types.time)
          .addColumn('maybe_blob', types.blob),
        schema.createIndex('samples_time').on('samples').columns(['tenant_id', 'time']),
      ],
    },
    {
      name: '002-flag',
      up: (schema, types) => [
        schema
          .alterTable('samples')
          .addColumn('flag', types.boolean, (is) => is.notNull().defaultTo(types.value.boolean(false))),
      ],
    },
  ],
};

const value = {
  id: 's1',
  string: 'Ünï',
  text: 'x'.repeat(100_000),
  json: { list: [1, 2], name: 'a"b\\c' },
  time: new Date('2025-03-30T01:30:00.123Z'),
  boolean: true,
  integer: -7,
  bigint: 2 ** 53 - 1,
  decimal: '12345.678901',
  double: 0.1,
  blob: Buffer.from([0, 1, 255, 39, 92]),
  maybeJson: null,
  maybeTime: null,
  maybeBlob: null,
  flag: true,
};

eachDatabase(test, 'migrated tables equal their entities, for every kind of column', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  for (const registration of [kernelRegistration, notes, samples]) await database.register(registration);
  t.is(await database.schemaDrift(), '');
});

eachDatabase(test, 'a table that differs from its entity shows as drift', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(samples);
  await fresh.ask('alter table samples drop column flag');
  t.regex(await database.schemaDrift(), /flag/);
});

eachDatabase(test, 'every kind of value comes back as it was written', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(samples);
  const em = database.forTenant(TENANT_A);
  await em.insert(Sample, value);
  const system = database.system();
  system.create(Sample, { ...value, id: 's2', tenantId: TENANT_A });
  await system.flush();
  for (const id of ['s1', 's2']) {
    const reader = database.forTenant(TENANT_A);
    const read = await reader.findOneOrFail(Sample, { id });
    t.deepEqual({ ...read }, { ...value, id, tenantId: TENANT_A }, id);
    t.is(await reader.count(Sample, { id, time: value.time, boolean: true }), 1);
  }
});

eachDatabase(test, 'loading and flushing an unchanged entity writes nothing', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(samples);
  await database.forTenant(TENANT_A).insert(Sample, value);
  const em = database.system();
  await em.find(Sample, {});
  em.getUnitOfWork().computeChangeSets();
  t.deepEqual(em.getUnitOfWork().getChangeSets(), []);
});

eachDatabase(test, 'ids and names differ by case and by spaces at the end', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  const em = database.forTenant(TENANT_A);
  const slugs = ['name', 'Name', 'name ', 'näme'];
  await em.insertMany(
    Note,
    slugs.map((slug, n) => ({ id: `n${n}`, slug, text: '', views: 0 })),
  );
  t.is(await em.count(Note, { slug: 'name' }), 1);
  t.is(await em.count(Note, { slug: 'NAME' }), 0);
});

eachDatabase(test, 'replicas that start at once migrate once', async (t, fresh) => {
  const migrated: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void migrated.push(JSON.parse(line).owner) });
  const replicas = await Promise.all(
    Array.from({ length: 3 }, () => openDatabase({ ...fresh.options, log })),
  );
  t.teardown(() => Promise.all(replicas.map((replica) => replica.close())));
  await Promise.all(replicas.map((replica) => replica.register(kernelRegistration)));
  await Promise.all(replicas.map((replica) => replica.register(notes)));
  t.deepEqual(
    migrated.filter((owner) => owner === 'notes'),
    ['notes'],
  );
  t.is(await replicas[0]?.system().count(Tenant), 1);
});

test('processes on one SQLite file migrate once and write side by side', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const start = () => fork(new URL('fixtures/writer.ts', import.meta.url), [fresh.options.file ?? '', '50']);
  const codes = await Promise.all(
    [start(), start(), start()].map(async (child) => (await once(child, 'exit'))[0]),
  );
  t.deepEqual(codes, [0, 0, 0]);
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  t.is(await database.forTenant(TENANT_A).count(Note), 150);
});

eachDatabase(test, 'an owner adds migrations later', async (t, fresh) => {
  const [first] = samples.migrations as [Migration];
  const before = await openDatabase(fresh.options);
  await before.register({ ...samples, entities: [], migrations: [first] });
  await before.close();
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(samples);
  t.is(await database.schemaDrift(), '');
});

const repaired: Migration = {
  name: '001-initial',
  up: (schema, types, queries) => [
    schema.createTable('first').addColumn('id', types.id, (is) => is.notNull().primaryKey()),
    queries.insertInto('first').values({ id: 'x' }),
    schema.createTable('second').addColumn('id', types.id, (is) => is.notNull().primaryKey()),
  ],
};

const broken: Migration = {
  name: '001-initial',
  up: (schema, types, queries) => {
    const nonsense = { compile: () => sql`this is no statement`.compile(queries) };
    return repaired.up(schema, types, queries).toSpliced(2, 0, nonsense);
  },
};

eachDatabase(test, 'a migration that failed half-way goes on after it was repaired', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  const register = (migration: Migration) =>
    database.register({ owner: 'broken', entities: [], migrations: [migration] });
  const error = await t.throwsAsync(register(broken), { name: 'DatabaseStartError' });
  t.regex(error?.message ?? '', /Migration 001-initial of broken failed at statement 3/);
  await register(repaired);
  const em = database.system();
  t.is((await em.execute('select * from first')).length, 1);
  t.is((await em.execute('select * from second')).length, 0);
});

/** A sample's tables under another owner, as the plugin left them that had them before. */
const moved = ({ migrations }: Registration, movedTo: string): Registration['migrations'] =>
  migrations.map(({ name }) => ({ name, movedTo }));

eachDatabase(
  test,
  'migrations that move to another owner keep the tables and rows of a database that has them',
  async (t, fresh) => {
    const before = await openDatabase(fresh.options);
    await before.register(samples);
    await before.forTenant(TENANT_A).insert(Sample, value);
    const database = await openDatabase(fresh.options);
    t.teardown(() => database.close());
    const migrations = (samples.migrations as readonly Migration[]).map((one) => ({
      ...one,
      formerly: 'samples',
    }));
    const later: Migration = {
      name: '003-later',
      up: (schema, types) => [schema.createTable('later').addColumn('id', types.id)],
    };
    await database.register({ owner: 'successor', entities: [Sample], migrations });
    await database.register({
      owner: 'samples',
      entities: [],
      migrations: [...moved(samples, 'successor'), later],
    });
    t.is(await database.forTenant(TENANT_A).count(Sample), 1);
    t.is(await database.schemaDrift(), '');
    await before.close();
  },
);

eachDatabase(
  test,
  'a replica of the version before starts beside one that has moved its migrations',
  async (t, fresh) => {
    const first = await openDatabase(fresh.options);
    t.teardown(() => first.close());
    await first.register(samples);
    const successor = await openDatabase(fresh.options);
    t.teardown(() => successor.close());
    const migrations = (samples.migrations as readonly Migration[]).map((one) => ({
      ...one,
      formerly: 'samples',
    }));
    await successor.register({ owner: 'successor', entities: [Sample], migrations });
    const old = await openDatabase(fresh.options);
    t.teardown(() => old.close());
    await old.register(samples);
    await old.forTenant(TENANT_A).insert(Sample, value);
    t.is(await successor.forTenant(TENANT_A).count(Sample), 1);
  },
);

eachDatabase(
  test,
  'moved migrations make the tables of an empty database once, whoever is first',
  async (t, fresh) => {
    const database = await openDatabase(fresh.options);
    t.teardown(() => database.close());
    const migrations = (samples.migrations as readonly Migration[]).map((one) => ({
      ...one,
      formerly: 'samples',
    }));
    await database.register({ owner: 'samples', entities: [], migrations: moved(samples, 'successor') });
    await database.register({ owner: 'successor', entities: [Sample], migrations });
    t.is(await database.schemaDrift(), '');
  },
);

eachDatabase(test, 'a database that is newer than the build is refused', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  const [first] = samples.migrations as [Migration];
  const older = { ...samples, migrations: [first] };
  await t.notThrowsAsync(reachDatabase(fresh.options, [older]), 'nothing was migrated');
  await database.register(samples);
  await t.notThrowsAsync(reachDatabase(fresh.options, [samples]));
  const refusal = { name: 'DatabaseStartError', message: /newer than this build.*002-flag/ };
  await t.throwsAsync(database.register(older), refusal);
  await t.throwsAsync(reachDatabase(fresh.options, [notes, older]), refusal);
});

eachDatabase(test, 'migrations out of order are refused', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  const migrations = [...samples.migrations].reverse();
  const [first, second] = samples.migrations as [Migration, Migration];
  await t.throwsAsync(database.register({ ...samples, migrations }), {
    message: `Migration ${first.name} of samples is listed behind ${second.name}: list each once, in the order of their names`,
  });
  await t.throwsAsync(database.register({ ...samples, migrations: [first, first] }), {
    message: /^Migration 001-\S+ of samples is listed behind 001-/,
  });
});

eachDatabase(test, 'a migration that returns something else than statements is named', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  const registration = (up: unknown): Registration => ({
    owner: 'odd',
    entities: [],
    migrations: [{ name: '001-initial', up: up as Migration['up'] }],
  });
  await t.throwsAsync(database.register(registration(() => ['create table odd (id int)'])), {
    message: 'Statement 1 of migration 001-initial of odd is no statement: schema and queries make them',
  });
  await t.throwsAsync(database.register(registration(() => undefined)), {
    message: 'Migration 001-initial of odd returns no list of statements',
  });
  const failing = () => {
    throw new TypeError('types.text is not a function');
  };
  await t.throwsAsync(database.register(registration(failing)), {
    message: 'Migration 001-initial of odd makes no statements: types.text is not a function',
  });
});

eachDatabase(test, 'the first migration makes the default tenant', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  const tenants = await database.system().find(Tenant, {});
  t.is(tenants.length, 1);
  t.like(tenants[0], {
    id: DEFAULT_TENANT_ID,
    name: 'Default Tenant',
    plan: 'pro',
    rateLimitRpm: 120,
    maxSessions: 10,
    deletedAt: null,
  });
});
