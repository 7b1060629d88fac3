import test, { type ExecutionContext } from 'ava';
import { type Database, openDatabase, writes } from '../../../foundation/data/database.ts';
import type { Family } from '../../../foundation/data/family.ts';
import { freshDatabase } from '../../support/databases.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { Note, notes, seed, TENANT_A } from './fixtures/notes.ts';

const PORTS = { postgres: 5432, mysql: 3306 } as const;

/** What meets the connection that nobody answers on. */
const USES: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'a read': (database) => database.forTenant(TENANT_A).rows(Note, {}, { fields: ['id'], limit: 9 }),
  'a count': (database) => database.forTenant(TENANT_A).count(Note),
  'a transaction': (database) =>
    database.forTenant(TENANT_A).transaction((entities) => entities.update(Note, { id: 'a1' }, { views: 7 })),
  'writes together': (database) =>
    database.forTenant(TENANT_A).writeTogether([writes.update(Note, { id: 'a1' }, { views: 8 })]),
};

/** A database of one connection, behind a proxy. */
async function openBehind(t: ExecutionContext, family: Exclude<Family, 'sqlite'>) {
  const fresh = await freshDatabase(t, family);
  if (fresh === undefined) return undefined;
  const proxy = await startTcpProxy(t, PORTS[family]);
  const url = fresh.options.url!.replace(`:${PORTS[family]}/`, `:${proxy.port}/`);
  const database = await openDatabase({
    ...fresh.options,
    url,
    pool: { max: 1 },
    statementTimeoutMs: 200,
  });
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  return { database, proxy };
}

for (const family of ['postgres', 'mysql'] as const) {
  for (const [what, use] of Object.entries(USES)) {
    test(`${family}: ${what} that gets no answer fails, and the next one has another connection`, async (t) => {
      const opened = await openBehind(t, family);
      if (opened === undefined) return;
      const { database, proxy } = opened;
      // Often enough for plans that the server keeps.
      for (let n = 0; n < 8; n += 1) await use(database);
      proxy.abandon();
      await t.throwsAsync(use(database));
      await t.notThrowsAsync(use(database));
    });
  }

  test(`${family}: a write that waits too long for another transaction is unavailable, and undone`, async (t) => {
    const fresh = await freshDatabase(t, family);
    if (fresh === undefined) return;
    const database = await openDatabase({ ...fresh.options, statementTimeoutMs: 200 });
    const other = await openDatabase({ ...fresh.options, guardTransactions: false });
    t.teardown(() => Promise.all([database.close(), other.close()]));
    await database.register(notes);
    await seed(database);
    const update = { text: 'mine' };
    const held = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const holder = other.transaction(async (em) => {
      await em.execute(`update notes set text = 'theirs' where id = 'a1'`);
      held.resolve();
      await done.promise;
    });
    await held.promise;
    const tenant = database.forTenant(TENANT_A);
    await t.throwsAsync(tenant.update(Note, { id: 'a1' }, update), { code: 'database.unavailable' });
    done.resolve();
    await holder;
    const [row] = await tenant.rows(Note, { id: 'a1' }, { fields: ['text'], limit: 1 });
    t.is(row?.text, 'theirs');
    t.is(await tenant.update(Note, { id: 'a1' }, update), 1);
  });
}
