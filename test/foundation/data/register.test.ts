import { defineEntity, p } from '@mikro-orm/core';
import test from 'ava';
import {
  column,
  DatabaseDefect,
  type EntityRegistration,
  type Migration,
  openDatabase,
} from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { eachDatabase } from '../../support/databases.ts';
import { Comment, Note, notes, Price, seed, TENANT_A } from './fixtures/notes.ts';
import { open } from './fixtures/open.ts';

eachDatabase(test, 'an owner may come while the others are in use', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(kernelRegistration);
  const early = database.forTenant(TENANT_A);
  await t.throwsAsync(early.count(Note), { instanceOf: DatabaseDefect, message: /Note is not registered/ });
  await database.register(notes);
  await seed(database);
  t.is(await early.count(Note), 1);
});

eachDatabase(test, 'owners may come at the same time', async (t, fresh) => {
  const database = await open(t, fresh);
  await Promise.all([database.register(kernelRegistration), database.register(notes)]);
  t.is(await database.schemaDrift(), '');
});

eachDatabase(
  test,
  'an owner may go and come back, with the same code or with a new generation of it',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(notes);
    await seed(database);
    await database.register(notes);
    t.is(await database.forTenant(TENANT_A).count(Note), 1);

    const next = defineEntity({
      name: 'Note',
      tableName: 'notes',
      properties: {
        id: column.id().primary(),
        tenantId: column.tenant(),
        slug: column.string(64),
        text: column.text(),
        views: column.integer().default(0),
        size: column.integer().default(3),
      },
    });
    await database.register({
      ...notes,
      entities: [next],
      migrations: [
        ...notes.migrations,
        {
          name: '002-size',
          up: (schema, types) => [
            schema.alterTable('notes').addColumn('size', types.integer, (is) => is.notNull().defaultTo(3)),
          ],
        },
      ],
    });
    t.like(await database.forTenant(TENANT_A).findOne(next, {}), { id: 'a1', size: 3, text: 'of a' });
    await database.forTenant(TENANT_A).insert(next, { id: 'a9', slug: 'n', text: '', views: 0, size: 4 });
    t.is((await database.forTenant(TENANT_A).findOneOrFail(next, { id: 'a9' })).size, 4);
  },
);

eachDatabase(
  test,
  'a new generation of an owner’s code is known beside the old one, until that one is released',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const old = await database.register(notes);
    await seed(database);
    const next = defineEntity({
      name: 'Note',
      tableName: 'notes',
      properties: {
        id: column.id().primary(),
        tenantId: column.tenant(),
        slug: column.string(64),
        text: column.text(),
        views: column.integer().default(0),
      },
    });
    const registered = await database.register({ ...notes, entities: [next] });
    const tenant = database.forTenant(TENANT_A);
    await tenant.insert(Note, { id: 'a8', slug: 'o', text: 'by the old', views: 0 });
    t.is((await tenant.findOneOrFail(next, { id: 'a8' })).text, 'by the old');
    await tenant.insert(next, { id: 'a9', slug: 'n', text: 'by the new', views: 0 });
    t.is(await tenant.count(Note, { id: 'a9' }), 1);

    old.release();
    t.is(await tenant.count(next), 3);
    await t.throwsAsync(database.forTenant(TENANT_A).count(Note));
    // The last one stays known when nobody uses it.
    registered.release();
    registered.release();
    t.is(await database.forTenant(TENANT_A).count(next), 3);
  },
);

eachDatabase(test, 'a generation that is given up leaves the one before it as it was', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(notes);
  await seed(database);
  const other = defineEntity({
    name: 'Note',
    tableName: 'notes',
    properties: { id: column.id().primary(), tenantId: column.tenant(), text: column.text() },
  });
  const broken: Migration = {
    name: '002-broken',
    up: () => {
      throw new Error('the migration is broken');
    },
  };
  const next = { ...notes, entities: [other], migrations: [...notes.migrations, broken] };
  await t.throwsAsync(database.register(next), { message: /broken/ });
  t.is(await database.forTenant(TENANT_A).count(Note), 1);
});

const plain = { id: column.id().primary(), text: column.text() };

const REFUSED: readonly { title: string; entities: readonly EntityRegistration[]; says: RegExp }[] = [
  {
    title: 'an entity that is neither tenant-owned nor declared otherwise',
    entities: [defineEntity({ name: 'Loose', tableName: 'loose', properties: plain })],
    says: /Loose has no tenantId.*tenancy: 'shared'/,
  },
  {
    title: 'a tenant that may be missing',
    entities: [
      defineEntity({
        name: 'Half',
        tableName: 'half',
        properties: { ...plain, tenantId: column.tenant().nullable() },
      }),
    ],
    says: /Half\.tenantId must be/,
  },
  {
    title: 'a tenant in another column',
    entities: [
      defineEntity({
        name: 'Odd',
        tableName: 'odd',
        properties: { ...plain, tenantId: column.tenant().fieldName('owner') },
      }),
    ],
    says: /in the column tenant_id/,
  },
  {
    title: 'a relation to a shared entity',
    entities: [
      { entity: Price, tenancy: 'shared' },
      defineEntity({
        name: 'Order',
        tableName: 'orders',
        properties: { ...plain, tenantId: column.tenant(), price: () => p.manyToOne(Price) },
      }),
    ],
    says: /Order\.price leads to Price, which is not tenant-owned/,
  },
  {
    title: 'a many-to-many relation',
    entities: [
      Note,
      Comment,
      defineEntity({
        name: 'Tag',
        tableName: 'tags',
        properties: { ...plain, tenantId: column.tenant(), notes: () => p.manyToMany(Note) },
      }),
    ],
    says: /is many-to-many/,
  },
];

eachDatabase(
  test,
  'what could leave a tenant is refused with what to do, and the owner may try again',
  async (t, fresh) => {
    for (const { title, entities, says } of REFUSED) {
      const database = await openDatabase(fresh.options);
      const attempt = database.register({ owner: 'bad', entities, migrations: [] });
      await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: says }, title);
      await database.register(notes);
      t.is(await database.forTenant(TENANT_A).count(Note), 0, title);
      t.is(await database.schemaDrift(), '', title);
      await database.close();
    }
  },
);

eachDatabase(test, 'a name or a table has one owner', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.register(notes);
  const properties = { ...plain, tenantId: column.tenant() };
  const sameName = defineEntity({ name: 'Note', tableName: 'other_notes', properties });
  const sameTable = defineEntity({ name: 'OtherNote', tableName: 'notes', properties });
  for (const [entity, says] of [
    [sameName, /name Note is taken by notes/],
    [sameTable, /table notes is taken by Note of notes/],
  ] as const) {
    const attempt = database.register({ owner: 'other', entities: [entity], migrations: [] });
    await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: says });
  }
  t.is(await database.forTenant(TENANT_A).count(Note), 0);
});

eachDatabase(
  test,
  'a refused relation to another owner’s entity hinders nobody who comes later',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(notes);
    const tag = defineEntity({
      name: 'Tag',
      tableName: 'tags',
      properties: { ...plain, tenantId: column.tenant(), notes: () => p.manyToMany(Note) },
    });
    const attempt = database.register({ owner: 'bad', entities: [tag], migrations: [] });
    await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: /Tag\.notes is many-to-many/ });
    await database.register(kernelRegistration);
    t.is(await database.schemaDrift(), '');
  },
);

const announced = { name: notes.owner, entities: notes.entities };

eachDatabase(
  test,
  'what was announced is known to the ORM, and to nobody before it is registered',
  async (t, fresh) => {
    const database = await open(t, fresh);
    database.announce([announced, { name: 'empty' }, { name: 'prices', entities: [] }]);
    const known = database.system().getMetadata().get(Note);
    await t.throwsAsync(database.forTenant(TENANT_A).count(Note), { message: /Note is not registered/ });
    const { release } = await database.register(notes);
    t.is(database.system().getMetadata().get(Note), known, 'it was not gone through again');
    await seed(database);
    t.is(await database.forTenant(TENANT_A).count(Note), 1);
    release();
    database.announce([announced]);
    await database.register(notes);
    t.is(await database.forTenant(TENANT_A).count(Note), 1);
  },
);

eachDatabase(
  test,
  'where something announced is wrong, each owner is told so by itself, and the others register',
  async (t, fresh) => {
    const own = { id: column.id().primary(), tenantId: column.tenant() };
    const named = defineEntity({ name: 'Note', tableName: 'other_notes', properties: own });
    const tabled = defineEntity({ name: 'Other', tableName: 'notes', properties: own });
    const keyless = defineEntity({
      name: 'Keyless',
      tableName: 'keyless',
      properties: { n: column.integer() },
    });
    const noEntity = class Plain {};
    for (const [wrong, message] of [
      [named, /The entity name Note is taken by/],
      [tabled, /The table notes is taken by/],
      [keyless, /Keyless/],
      [noEntity, /no entity of defineEntity/],
    ] as const) {
      const database = await open(t, fresh);
      const entities = [wrong as EntityRegistration];
      database.announce([announced, { name: 'wrong', entities }]);
      await database.register(notes);
      await t.throwsAsync(database.register({ owner: 'wrong', entities, migrations: [] }), { message });
      await seed(database).catch(() => {});
      t.is(await database.forTenant(TENANT_A).count(Note), 1);
    }
  },
);

eachDatabase(
  test,
  'an entity in use that another owner announces as its own stays that of the first',
  async (t, fresh) => {
    const database = await open(t, fresh);
    await database.register(notes);
    await seed(database);
    database.announce([{ name: 'wrong', entities: notes.entities }]);
    t.is(await database.forTenant(TENANT_A).count(Note), 1);
    await t.throwsAsync(database.register({ ...notes, owner: 'wrong' }), { message: /is taken by/ });
    t.is(await database.forTenant(TENANT_A).count(Note), 1);
  },
);
