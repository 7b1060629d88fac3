import test, { type ExecutionContext } from 'ava';
import { type Database, type Migration, openDatabase } from '../../../foundation/data/database.ts';
import { freshDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { Note, notes, seed, TENANT_A } from './fixtures/notes.ts';

const LOCK = {
  postgres: ['lock table notes in access exclusive mode'],
  mysql: ['lock tables notes write'],
} as const;

/** One row for each connection that waits for the table. */
const WAITING = {
  postgres: `select pid from pg_locks where not granted and relation = 'notes'::regclass`,
  mysql:
    "select id from information_schema.processlist where db = database() and state like 'Waiting for table metadata lock'",
} as const;
const POOL = 10;

/** Locks the table of the notes on a connection of its own, and gives back what ends that. */
async function lockNotes(t: ExecutionContext, other: Database, family: 'postgres' | 'mysql') {
  const locked = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const holding = other.transaction(async (em) => {
    for (const statement of LOCK[family]) await em.execute(statement);
    locked.resolve();
    await done.promise;
    if (family === 'mysql') await em.execute('unlock tables');
  });
  t.teardown(() => done.resolve());
  await locked.promise;
  return async () => {
    done.resolve();
    await holding;
  };
}

async function open(t: ExecutionContext, family: 'postgres' | 'mysql') {
  const fresh = await freshDatabase(t, family);
  if (fresh === undefined) return undefined;
  const database = await openDatabase(fresh.options);
  const other = await openDatabase({ ...fresh.options, guardTransactions: false });
  t.teardown(() => Promise.all([database.close(), other.close()]));
  await database.register(notes);
  await seed(database);
  return { database, other };
}

for (const family of ['postgres', 'mysql'] as const) {
  test(`${family}: a table that somebody has locked costs those who need it seconds, and the others no answer`, async (t) => {
    const opened = await open(t, family);
    if (opened === undefined) return;
    const { database, other } = opened;
    const tenant = database.forTenant(TENANT_A);
    const unlock = await lockNotes(t, other, family);
    const began = performance.now();
    // More than the pool has connections.
    const users = Array.from({ length: 14 }, (_, n) =>
      n % 2 === 0
        ? tenant.count(Note)
        : tenant.transaction((entities) => entities.update(Note, { id: 'a1' }, { views: n }), { retries: 5 }),
    );
    const ends = Promise.allSettled(users);
    await until(async () => (await other.system().execute(WAITING[family])).length === POOL);
    await t.notThrowsAsync(database.now(), 'it gets a connection');
    for (const end of await ends) {
      t.is(end.status, 'rejected');
      t.like((end as PromiseRejectedResult).reason, {
        code: 'database.unavailable',
        message: 'Something else has locked this in the database for too long',
      });
    }
    t.true(performance.now() - began < 29_000, 'in less than one statement may take');
    await unlock();
    t.true((await tenant.count(Note)) > 0);
  });

  test(`${family}: a migration waits for a locked table for longer than requests do`, async (t) => {
    const opened = await open(t, family);
    if (opened === undefined) return;
    const { database, other } = opened;
    const unlock = await lockNotes(t, other, family);
    const wider: Migration = {
      name: '002-wider',
      up: (schema) => [schema.alterTable('notes').addColumn('extra', 'integer')],
    };
    const migrated = database.register({ ...notes, migrations: [...notes.migrations, wider] });
    await t.throwsAsync(database.forTenant(TENANT_A).count(Note), { code: 'database.unavailable' });
    await unlock();
    await t.notThrowsAsync(migrated);
  });
}
