import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { column } from '../../../../foundation/data/columns.ts';
import { eraseExpired, openDatabase } from '../../../../foundation/data/database.ts';
import { eachDatabase } from '../../../support/databases.ts';

const TENANTS = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'] as const;
const never = new AbortController().signal;

const Note = defineEntity({
  name: 'ExpiringNote',
  tableName: 'expiring_notes',
  indexes: [{ name: 'expiring_notes_at', properties: ['at'] }],
  properties: { tenantId: column.tenant().primary(), id: column.integer().primary(), at: column.bigint() },
});

eachDatabase(
  test,
  'what has had its time goes in batches, of all tenants, and nothing else',
  async (t, fresh) => {
    const database = await openDatabase(fresh.options);
    t.teardown(() => database.close());
    await database.register({
      owner: 'notes',
      entities: [Note],
      migrations: [
        {
          name: '001-notes',
          up: (schema, types) => [
            schema
              .createTable('expiring_notes')
              .addColumn('tenant_id', types.tenant, (is) => is.notNull())
              .addColumn('id', types.integer, (is) => is.notNull())
              .addColumn('at', types.bigint, (is) => is.notNull())
              .addPrimaryKeyConstraint('expiring_notes_pkey', ['tenant_id', 'id']),
            schema.createIndex('expiring_notes_at').on('expiring_notes').column('at'),
          ],
        },
      ],
    });
    const write = (tenantId: string, count: number, at: number) =>
      database.forTenant(tenantId).insertMany(
        Note,
        Array.from({ length: count }, (_, id) => ({ id: at * 10_000 + id, at })),
      );
    const left = () => Promise.all(TENANTS.map((tenantId) => database.forTenant(tenantId).count(Note)));
    await write(TENANTS[0], 1_300, 1);
    await write(TENANTS[0], 4, 2);
    await write(TENANTS[1], 700, 1);
    const old = { at: { $lt: 2 } };

    await eraseExpired(database, Note, old, AbortSignal.abort());
    t.deepEqual(await left(), [1_304, 700]);
    const leave = new AbortController();
    let batches = 0;
    const watched: Pick<typeof database, 'eraseOfAll'> = {
      eraseOfAll(...args) {
        batches += 1;
        leave.abort();
        return database.eraseOfAll(...args);
      },
    };
    await eraseExpired(watched, Note, old, leave.signal);
    const [one, two] = await left();
    t.deepEqual([batches, one! + two!], [1, 1_504], 'a batch at a time');
    await Promise.all([1, 2, 3].map(() => eraseExpired(database, Note, old, never)));
    t.deepEqual(await left(), [4, 0]);

    await write(TENANTS[1], 30, 1);
    const entities = database.forTenant(TENANTS[1]);
    t.is(await entities.erase(Note, old, 20), 20);
    t.is(await entities.erase(Note, old, 20), 10);
    t.is(await entities.erase(Note, old), 0);
    t.deepEqual(await left(), [4, 0]);
  },
);
