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
    // A server that was demoted keeps its connections; the pool does not, so that the next one leads to the server that takes writes.
    if (family === 'sqlite') await database.system().execute('pragma query_only = off');
    t.is(await attempts.transaction(), 1);
    await t.notThrowsAsync(database.ping(1000));
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
