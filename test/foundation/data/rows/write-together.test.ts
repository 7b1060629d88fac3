import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { type Database, openDatabase, type RowWrite, writes } from '../../../../foundation/data/database.ts';
import { isUniqueViolation } from '../../../../foundation/data/errors.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../../support/databases.ts';
import { Note, notes, seed, TENANT_A, TENANT_B } from '../fixtures/notes.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  return database;
}

const row = (id: string) => ({ id, slug: id, text: 'new', views: 0 });

const all = (database: Database, tenant: string) =>
  database.forTenant(tenant).rows(Note, {}, { fields: ['id', 'views'], orderBy: { id: 'asc' }, limit: 99 });

eachDatabase(test, 'writes that all match are done', async (t, fresh) => {
  const database = await open(t, fresh);
  const stored = await database
    .forTenant(TENANT_A)
    .writeTogether([
      writes.update(Note, { id: 'a1', views: 1 }, { views: 2 }, { expect: 1 }),
      writes.insert(Note, [row('n1'), row('n2')]),
      writes.insert(Note, []),
      writes.update(Note, { id: { $in: ['n1', 'n2'] } }, { views: 7 }, { expect: 2 }),
      writes.update(Note, { id: 'nobody' }, { views: 9 }),
    ]);
  t.true(stored);
  t.deepEqual(await all(database, TENANT_A), [
    { id: 'a1', views: 2 },
    { id: 'n1', views: 7 },
    { id: 'n2', views: 7 },
  ]);
});

eachDatabase(test, 'nothing is written when one of them matches another number of rows', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  for (const expect of [0, 2]) {
    const stored = await a.writeTogether([
      writes.insert(Note, [row('n1')]),
      writes.update(Note, { id: 'a1' }, { views: 5 }, { expect }),
      writes.insert(Note, [row('n2')]),
    ]);
    t.false(stored);
  }
  t.deepEqual(await all(database, TENANT_A), [{ id: 'a1', views: 1 }]);
  t.true(await a.writeTogether([writes.insert(Note, [row('n3')])]), 'the connection is of use afterwards');
  t.true(await a.writeTogether([]));
});

eachDatabase(
  test,
  'rows are deleted with the others, of the tenant alone, or nothing is',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const a = database.forTenant(TENANT_A);
    const others = await all(database, TENANT_B);
    for (const expect of [0, 2]) {
      const inserted = writes.insert(Note, [row('n1')]);
      t.false(await a.writeTogether([inserted, writes.delete(Note, { id: 'a1' }, { expect })]));
    }
    t.deepEqual(await all(database, TENANT_A), [{ id: 'a1', views: 1 }]);
    const replaced = [writes.delete(Note, { id: 'a1' }, { expect: 1 }), writes.insert(Note, [row('a1')])];
    t.true(await a.writeTogether(replaced, { shareAs: 'a1' }));
    t.deepEqual(await all(database, TENANT_A), [{ id: 'a1', views: 0 }]);
    t.true(await a.writeTogether([writes.delete(Note, {})]));
    t.deepEqual(await all(database, TENANT_A), []);
    t.deepEqual(await all(database, TENANT_B), others);
  },
);

eachDatabase(test, 'nothing is written when one of them fails', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  const failure = await t.throwsAsync(
    a.writeTogether([
      writes.update(Note, { id: 'a1' }, { views: 5 }, { expect: 1 }),
      writes.insert(Note, [row('a1')]),
    ]),
  );
  t.true(isUniqueViolation(failure));
  t.deepEqual(await all(database, TENANT_A), [{ id: 'a1', views: 1 }]);
});

eachDatabase(test, 'inside a transaction they are part of it', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  await a.transaction(async (tx) => {
    t.true(await tx.writeTogether([writes.insert(Note, [row('n1')])]));
  });
  const undone = a.transaction(async (tx) => {
    await tx.insert(Note, row('n2'));
    if (!(await tx.writeTogether([writes.update(Note, { id: 'x' }, { views: 1 }, { expect: 1 })])))
      throw new Error('moved on');
  });
  await t.throwsAsync(undone, { message: 'moved on' });
  t.deepEqual(
    (await all(database, TENANT_A)).map(({ id }) => id),
    ['a1', 'n1'],
  );
});

eachDatabase(test, 'they do not leave the tenant', async (t, fresh) => {
  const database = await open(t, fresh);
  const a = database.forTenant(TENANT_A);
  t.false(await a.writeTogether([writes.update(Note, { id: 'b1' }, { views: 5 }, { expect: 1 })]));
  t.true(await a.writeTogether([writes.update(Note, { id: 'b1' }, { views: 5 })]));
  await t.throwsAsync(a.writeTogether([writes.insert(Note, [{ ...row('n1'), tenantId: TENANT_B }])]), {
    name: 'DatabaseDefect',
  });
  await t.throwsAsync(a.writeTogether([writes.update(Note, { id: 'a1' }, { tenantId: TENANT_B })]), {
    name: 'DatabaseDefect',
  });
  const foreign = { tenant_id: TENANT_B } as object;
  await t.throwsAsync(a.writeTogether([writes.update(Note, { id: 'a1' }, foreign)]), {
    name: 'DatabaseDefect',
  });
  t.deepEqual(await all(database, TENANT_B), [{ id: 'b1', views: 1 }]);
});

eachDatabase(test, 'of writers that expect the same state one wins', async (t, fresh) => {
  const database = await open(t, fresh);
  const attempts = Array.from({ length: 20 }, (_, n) =>
    database
      .forTenant(TENANT_A)
      .writeTogether([
        writes.update(Note, { id: 'a1', views: 1 }, { views: 2 }, { expect: 1 }),
        writes.insert(Note, [row(`w${n}`)]),
      ]),
  );
  const won = (await Promise.all(attempts)).filter(Boolean);
  t.is(won.length, 1);
  t.is((await all(database, TENANT_A)).length, 2);
});

eachDatabase(
  test,
  'writes that share a commit are each done, refused or failed on their own',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const share = (shareAs: string, tenant = TENANT_A, ...more: RowWrite[]) =>
      database
        .forTenant(tenant)
        .writeTogether([writes.insert(Note, [row(shareAs)]), ...more], { shareAs })
        .catch((error: unknown) => (isUniqueViolation(error) ? 'taken' : 'failed'));
    const unmatched = writes.update(Note, { id: 'nobody' }, { views: 9 }, { expect: 1 });
    const ended = await Promise.all([
      ...['n1', 'n2', 'a1', 'n3'].map((id) => share(id)),
      share('n4', TENANT_A, unmatched),
      share('n5', TENANT_B),
      share('n6', TENANT_A),
    ]);
    t.deepEqual(ended, [true, true, 'taken', true, false, true, true]);
    const ids = async (tenant: string) => (await all(database, tenant)).map(({ id }) => id);
    t.deepEqual(await ids(TENANT_A), ['a1', 'n1', 'n2', 'n3', 'n6']);
    t.true((await ids(TENANT_B)).includes('n5'));
  },
);

test('sqlite: writes wait, without blocking, while another process has the file', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const one = await open(t, fresh);
  // Locks are a process's: another library in this one would not be in the way.
  const holder = `const { DatabaseSync } = require('node:sqlite');
    const file = new DatabaseSync(process.argv[1]);
    file.exec('begin immediate');
    console.log('held');
    process.stdin.once('data', () => file.exec('rollback'));`;
  const other = spawn(process.execPath, ['-e', holder, fresh.options.file!], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => other.kill());
  await once(other.stdout, 'data');
  let isWritten = false;
  const written = one
    .forTenant(TENANT_A)
    .writeTogether([writes.insert(Note, [row('n1')])])
    .then((answer) => {
      isWritten = answer;
    });
  await pause(100);
  t.false(isWritten);
  other.stdin.end('over');
  await written;
  t.true(isWritten);
});
