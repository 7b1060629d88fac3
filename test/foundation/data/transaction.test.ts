import { LockMode } from '@mikro-orm/core';
import test, { type ExecutionContext } from 'ava';
import {
  type Database,
  DatabaseDefect,
  isUniqueViolation,
  openDatabase,
} from '../../../foundation/data/database.ts';
import { lostRace } from '../../../foundation/data/retry.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';
import { Note, notes, seed, TENANT_A, TENANT_B } from './fixtures/notes.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  return database;
}

const row = (id: string) => ({ id, slug: id, text: '', views: 0 });

eachDatabase(test, 'a transaction commits what it changed', async (t, fresh) => {
  const database = await open(t, fresh);
  const answer = await database.forTenant(TENANT_A).transaction(async (tx) => {
    await tx.insertMany(Note, [row('n1'), row('n2')]);
    const note = await tx.findOneOrFail(Note, { id: 'a1' });
    await tx.update(Note, { id: note.id }, { text: 'changed' });
    return note.id;
  });
  t.is(answer, 'a1');
  t.is(await database.forTenant(TENANT_A).count(Note), 3);
  t.is((await database.forTenant(TENANT_A).findOneOrFail(Note, { id: 'a1' })).text, 'changed');
});

eachDatabase(test, 'a transaction that throws changes nothing and throws on', async (t, fresh) => {
  const database = await open(t, fresh);
  const failure = new Error('no');
  const attempt = database.forTenant(TENANT_A).transaction(async (tx) => {
    await tx.insert(Note, row('n1'));
    await tx.delete(Note, { id: 'a1' });
    throw failure;
  });
  t.is(await t.throwsAsync(attempt), failure);
  t.deepEqual(
    (await database.forTenant(TENANT_A).find(Note, {})).map(({ id }) => id),
    ['a1'],
  );
});

eachDatabase(test, 'the failure of a nested transaction undoes that one alone', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.forTenant(TENANT_A).transaction(async (tx) => {
    await tx.insert(Note, row('outer'));
    const inner = tx.transaction(async (nested) => {
      await nested.insert(Note, row('inner'));
      throw new Error('no');
    });
    await t.throwsAsync(inner, { message: 'no' });
    await tx.transaction((nested) => nested.insert(Note, row('second')));
  });
  const ids = (await database.forTenant(TENANT_A).find(Note, {}, { orderBy: { id: 'asc' } })).map(
    ({ id }) => id,
  );
  t.deepEqual(ids, ['a1', 'outer', 'second']);
});

eachDatabase(test, 'a transaction over all tenants commits and rolls back', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.transaction((em) => em.nativeUpdate(Note, {}, { views: 5 }));
  const failing = database.transaction(async (em) => {
    await em.nativeDelete(Note, {});
    throw new Error('no');
  });
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await database.system().count(Note, { views: 5 }), 2);
});

eachDatabase(
  test,
  'a second connection inside a transaction is refused instead of waiting for itself',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const outer = database.forTenant(TENANT_A);
    const attempts: (() => Promise<unknown>)[] = [
      () => outer.find(Note, {}),
      () => outer.insert(Note, row('x')),
      () => outer.transaction(async (tx) => tx.count(Note)),
      () => database.forTenant(TENANT_B).count(Note),
      () => database.system().count(Note),
      () => database.transaction((em) => em.count(Note)),
    ];
    for (const attempt of attempts) {
      const error = await t.throwsAsync(outer.transaction(attempt), { instanceOf: DatabaseDefect });
      t.is(error?.rule, 'second-connection');
    }
    t.is(await outer.count(Note), 1);
  },
);

eachDatabase(
  test,
  'work that a transaction left behind may use the database afterwards',
  async (t, fresh) => {
    const database = await open(t, fresh);
    let later: Promise<number> | undefined;
    let start = () => {};
    const committed = new Promise<void>((resolve) => {
      start = resolve;
    });
    await database.forTenant(TENANT_A).transaction(async (tx) => {
      later = committed.then(() => database.forTenant(TENANT_A).count(Note));
      await tx.insert(Note, row('n1'));
    });
    start();
    t.is(await later, 2);
  },
);

eachDatabase(test, 'transactions that lock the same row run one after the other', async (t, fresh) => {
  const database = await open(t, fresh);
  const add = () =>
    database.forTenant(TENANT_A).transaction(
      async (tx) => {
        const note = await tx.findOneOrFail(Note, { id: 'a1' }, { lockMode: LockMode.PESSIMISTIC_WRITE });
        await tx.update(Note, { id: note.id }, { views: note.views + 1 });
      },
      { retries: 5 },
    );
  await Promise.all(Array.from({ length: 10 }, add));
  t.is((await database.forTenant(TENANT_A).findOneOrFail(Note, { id: 'a1' })).views, 11);
});

eachDatabase(test, 'a transaction that loses a deadlock runs again', async (t, fresh) => {
  const database = await open(t, fresh);
  await database.forTenant(TENANT_A).insert(Note, row('a2'));
  const met = meeting(2);
  let runs = 0;
  const cross = (first: string, second: string) =>
    database.forTenant(TENANT_A).transaction(
      async (tx) => {
        runs += 1;
        await tx.increment(Note, { id: first }, { views: 1 });
        // On SQLite one waits for the other at its begin, and nobody could meet; there is no deadlock to win there.
        if (fresh.family !== 'sqlite' && runs <= 2) await met(tx);
        await tx.increment(Note, { id: second }, { views: 1 });
      },
      { retries: 3 },
    );
  await Promise.all([cross('a1', 'a2'), cross('a2', 'a1')]);
  t.is(runs, fresh.family === 'sqlite' ? 2 : 3);
  t.like(await database.forTenant(TENANT_A).findOne(Note, { id: 'a1' }), { views: 3 });
  t.like(await database.forTenant(TENANT_A).findOne(Note, { id: 'a2' }), { views: 2 });
});

/** Whether somebody waits for a lock of this transaction, or of this database. */
const WAITING = {
  postgres: 'select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))',
  mysql:
    "select 1 from information_schema.innodb_trx t join information_schema.processlist p on p.id = t.trx_mysql_thread_id where t.trx_state = 'LOCK WAIT' and p.db = database()",
} as const;

eachDatabase(test, 'a statement without a transaction that ends a deadlock runs again', async (t, fresh) => {
  const database = await open(t, fresh);
  const notes = database.forTenant(TENANT_A);
  // With more changes the transaction is the one that MySQL lets win.
  const others = Array.from({ length: 20 }, (_, n) => row(`c${n}`));
  await notes.insertMany(Note, others);
  const both = { id: { $in: ['a1', 'z1'] } };
  /**
   * False where the transaction was chosen: PostgreSQL takes the one that has waited for a second, on a slow machine
   * the later one.
   */
  const endsDeadlock = async (write: () => Promise<number>) => {
    await notes.delete(Note, both);
    await notes.insertMany(Note, [row('a1'), row('z1')]);
    const locked = Promise.withResolvers<void>();
    const writing = locked.promise.then(write);
    writing.catch(() => {});
    const transaction = database.transaction(async (em) => {
      await em.execute("update notes set views = views + 1 where id like 'c%' or id = 'z1'");
      locked.resolve();
      // There one waits for the other before it begins.
      if (fresh.family === 'sqlite') return;
      // What innodb_trx shows is not read anew while somebody asks again within 100 ms.
      const pause = fresh.family === 'mysql' ? 'select sleep(0.15)' : 'select pg_sleep(0.02)';
      while ((await em.execute(WAITING[fresh.family])).length === 0) await em.execute(pause);
      await em.execute("update notes set views = views + 1 where id = 'a1'");
    });
    const isOther = await transaction.then(
      () => false,
      (error: unknown) => {
        if (!lostRace(error)) throw error;
        return true;
      },
    );
    t.is(await writing, 2);
    return !isOther;
  };
  for (const write of [
    () => notes.update(Note, both, { text: 'changed' }),
    () => notes.increment(Note, both, { views: 1 }),
    () => notes.delete(Note, both),
  ])
    while (!(await endsDeadlock(write)));
});

/**
 * A place where `count` transactions wait for each other, asking the database again and again so that the guard is
 * content.
 */
function meeting(count: number): (tx: { count(entity: typeof Note): Promise<number> }) => Promise<void> {
  let arrived = 0;
  return async (tx) => {
    arrived += 1;
    while (arrived < count) await tx.count(Note);
  };
}

eachDatabase(test, 'a taken unique key is recognised', async (t, fresh) => {
  const database = await open(t, fresh);
  const error = await t.throwsAsync(
    database.forTenant(TENANT_A).insert(Note, { ...row('n1'), slug: 'first' }),
  );
  t.true(isUniqueViolation(error));
  t.false(isUniqueViolation(new Error('other')));
  const again = await t.throwsAsync(database.forTenant(TENANT_A).insert(Note, row('a1')));
  t.true(isUniqueViolation(again));
});

eachDatabase(test, 'transactions see what others committed, whatever a database says', async (t, fresh) => {
  if (fresh.family !== 'postgres') {
    t.pass('SQLite has one writer, and of MySQL only the server says it');
    return;
  }
  const [{ name }] = (await fresh.ask('select current_database() as name')) as [{ name: string }];
  await fresh.ask(`alter database ${name} set default_transaction_isolation to 'serializable'`);
  const database = await open(t, fresh);
  const said = await database.transaction((tx) => tx.execute('show transaction_isolation'));
  t.deepEqual(said, [{ transaction_isolation: 'read committed' }]);
});
