import test from 'ava';
import { type Migration, openDatabase } from '../../../foundation/data/database.ts';
import type { Family } from '../../../foundation/data/family.ts';
import { eachDatabase } from '../../support/databases.ts';

/** Every type, and every verb that a migration is mostly made of. */
const sample: Migration = {
  name: '001-sample',
  up: (schema, types, queries) => [
    schema
      .createTable('things')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('name', types.string(40), (is) => is.notNull().defaultTo('None'))
      .addColumn('text', types.text)
      .addColumn('json', types.json)
      .addColumn('at', types.time)
      .addColumn('is_so', types.boolean, (is) => is.notNull().defaultTo(types.value.boolean(false)))
      .addColumn('number', types.integer)
      .addColumn('large', types.bigint)
      .addColumn('price', types.decimal(12, 4))
      .addColumn('ratio', types.double)
      .addColumn('bytes', types.blob)
      .addUniqueConstraint('things_name_key', ['tenant_id', 'name']),
    schema.createIndex('things_at').on('things').columns(['tenant_id', 'at']),
    schema.createIndex('things_number').unique().on('things').column('number'),
    schema.alterTable('things').addColumn('more', types.string(5)),
    schema.dropIndex('things_at', 'things'),
    queries.insertInto('things').values({ id: 'a', tenant_id: 't', at: types.value.now }),
    queries.updateTable('things').set({ number: 2 }).where('id', '=', 'a'),
    schema.dropTable('things'),
  ],
};

const WANTED: Readonly<Record<Family, string>> = {
  sqlite:
    '1 ea5ec062ec554c6f5ee652440bbbc1af c13a275de6d8234f5e1ddadc48e479a8 a04b8f80d8cbca252f1c1e9328135c8f e2a0928c3521d649b033c5483ad75afa 6d31edced69d695665cc70303d0a904b 63f6bf421931a4a4eb95c77e3066fb57 177032db898888657b64406e4627df60 60c9c19757fd714372bd376474690fe6',
  mysql:
    '1 1beb703c6237a5c1677351b8af5fdcbe c13a275de6d8234f5e1ddadc48e479a8 a04b8f80d8cbca252f1c1e9328135c8f 93e2436e75852ce5947a5c121d987172 e9f26ad7a9e79146d806c5df2ff1a2c4 c80e3ead8f281cc9cf317c139587df2d 177032db898888657b64406e4627df60 60c9c19757fd714372bd376474690fe6',
  postgres:
    '1 a8119cdb4707ce46c13e87a5e31c7196 c13a275de6d8234f5e1ddadc48e479a8 a04b8f80d8cbca252f1c1e9328135c8f 93e2436e75852ce5947a5c121d987172 6d31edced69d695665cc70303d0a904b e46659530de19a4305809349c0e64709 177032db898888657b64406e4627df60 60c9c19757fd714372bd376474690fe6',
};

/*
 * Every deployment has hashes of the statements that it has applied. Where this fails after an update of Kysely or
 * MikroORM, they spell something otherwise: even it out in `comparable`, or raise `SPELLING`
 * (`foundation/data/schema/statements.ts`), and write down the new hashes here. Else no deployment would start.
 */
eachDatabase(test, 'libraries spell the statements of a migration as they did', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register({ owner: 'sample', entities: [], migrations: [sample] });
  const [row] = await fresh.ask('select hashes from schema_migrations');
  t.is(row?.hashes, WANTED[fresh.family]);
});
