import test from 'ava';
import { openDatabase, writes } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { FAMILIES, freshDatabase } from '../../support/databases.ts';
import { Note, notes, seed, TENANT_A } from './fixtures/notes.ts';

/** What a connection says as soon as its server, or its file, takes no writes any more. */
const DEMOTE = {
  sqlite: 'pragma query_only = on',
  postgres: 'set session characteristics as transaction read only',
  mysql: 'set session transaction read only',
};

for (const family of FAMILIES) {
  test(`${family}: while it is read-only, writes are unavailable and so is the database, until one is stored`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined) return;
    const database = await openDatabase({ ...fresh.options, pool: { max: 1 } });
    t.teardown(() => database.close());
    await database.register(notes);
    await seed(database);
    const tenant = database.forTenant(TENANT_A);
    const attempts = {
      update: () => tenant.update(Note, { id: 'a1' }, { views: 7 }),
      together: () => tenant.writeTogether([writes.update(Note, { id: 'a1' }, { views: 7 })]),
      transaction: () => tenant.transaction((inside) => inside.update(Note, { id: 'a1' }, { views: 7 })),
      raw: () => database.system().execute('delete from notes'),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      await database.system().execute(DEMOTE[family]);
      await t.throwsAsync(attempt(), { code: 'database.unavailable', message: /it is read-only/ }, name);
      t.true((await tenant.count(Note)) > 0, 'reads go on');
      await t.throwsAsync(database.ping(1000), { code: 'database.unavailable', message: /it is read-only/ });
    }
    // A server that was demoted keeps its connections; the pool does not, so that the next one leads to the server that
    // takes writes.
    if (family === 'sqlite') await database.system().execute('pragma query_only = off');
    t.is(await attempts.transaction(), 1);
    await t.notThrowsAsync(database.ping(1000));
  });

  if (family !== 'sqlite')
    test(`${family}: after a write was refused as read-only, all connections are left, also those that only read`, async (t) => {
      const fresh = await freshDatabase(t, family);
      if (fresh === undefined) return;
      const database = await openDatabase({ ...fresh.options, pool: { max: 3 }, guardTransactions: false });
      t.teardown(() => database.close());
      await database.register(notes);
      await seed(database);
      const id = family === 'postgres' ? 'pg_backend_pid()' : 'connection_id()';
      /** The connections of the pool, all three in use at one time. */
      const connections = async (sql?: string) => {
        const all = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
        const uses = all.map(({ resolve }) =>
          database.transaction(async (em) => {
            const [row] = await em.execute<{ id: unknown }[]>(`select ${id} as id`);
            resolve();
            await Promise.all(all.map(({ promise }) => promise));
            if (sql !== undefined) await em.execute(sql);
            return String(row?.id);
          }),
        );
        return Promise.all(uses);
      };
      const before = await connections();
      t.is(new Set(before).size, 3);
      await database.system().execute(DEMOTE[family]);
      // Connections take turns in the pool: one of the three refuses, within three.
      const update = () => database.forTenant(TENANT_A).update(Note, { id: 'a1' }, { views: 7 });
      const ends = await Promise.allSettled([update(), update(), update()]);
      t.is(ends.filter(({ status }) => status === 'rejected').length, 1);
      for (const connection of await connections()) t.false(before.includes(connection), connection);
    });

  test(`${family}: a start on one that is read-only says so, and what to do`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined) return;
    const database = await openDatabase({ ...fresh.options, pool: { max: 1 } });
    t.teardown(() => database.close());
    await database.system().execute(DEMOTE[family]);
    const remedy = family === 'sqlite' ? /its folder writable/ : /name the server that takes writes/;
    const error = await t.throwsAsync(database.register(kernelRegistration), { name: 'DatabaseStartError' });
    t.regex(error?.message ?? '', /cannot be written, it is read-only: /);
    t.regex(error?.message ?? '', remedy);
  });
}
