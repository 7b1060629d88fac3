import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { column, eachRow, type Migration, openDatabase } from '../../../../foundation/data/database.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { TENANT_A, TENANT_B } from '../fixtures/notes.ts';

const Visit = defineEntity({
  name: 'Visit',
  tableName: 'visits',
  properties: {
    tenantId: column.tenant().primary(),
    place: column.string(36).primary(),
    seq: column.integer().unsigned(false).primary(),
    at: column.time(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('visits')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('place', types.string(36), (is) => is.notNull())
      .addColumn('seq', types.integer, (is) => is.notNull())
      .addColumn('at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('visits_pkey', ['tenant_id', 'place', 'seq']),
  ],
};

/** Places with 0 to 7 visits each, at few moments: pages end in the middle of both. */
const visits = Array.from({ length: 8 }, (_, place) =>
  Array.from({ length: place }, (_, index) => ({
    place: `p${place}`,
    seq: index + 1,
    at: new Date(1_700_000_000_123 + ((place + index) % 3)),
  })),
).flat();

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

eachDatabase(test, 'every row is read once and in order, however pages fall', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register({ owner: 'visits', entities: [Visit], migrations: [initial] });
  for (const tenant of [TENANT_A, TENANT_B]) await database.forTenant(tenant).insertMany(Visit, visits);
  const entities = database.forTenant(TENANT_A);
  const sorted = visits.toSorted((a, b) => +a.at - +b.at || a.place.localeCompare(b.place) || a.seq - b.seq);
  for (const page of [1, 2, 3, 5, 27, 28, 29, 100]) {
    const byPlace = await all(eachRow(entities, Visit, {}, { by: ['place', 'seq'], page }));
    t.deepEqual(
      byPlace.map(({ place, seq }) => ({ place, seq })),
      visits.map(({ place, seq }) => ({ place, seq })),
      `${page}`,
    );
    const query = { by: ['at', 'place', 'seq'], fields: ['at', 'place', 'seq'], page } as const;
    const since = new Date(1_700_000_000_124);
    const later = await all(eachRow(entities, Visit, { at: { $gte: since } }, query));
    t.deepEqual(
      later.map(({ place, seq }) => ({ place, seq })),
      sorted.filter(({ at }) => at >= since).map(({ place, seq }) => ({ place, seq })),
      `from a time on, ${page}`,
    );
    t.deepEqual(await all(eachRow(entities, Visit, {}, query)), sorted, `${page}`);
  }
  const some = await all(eachRow(entities, Visit, { place: 'p5' }, { by: ['seq'], page: 2 }));
  t.deepEqual(
    some.map(({ seq }) => seq),
    [1, 2, 3, 4, 5],
  );
  t.deepEqual(await all(eachRow(entities, Visit, { place: 'p9' }, { by: ['seq'] })), []);
});
