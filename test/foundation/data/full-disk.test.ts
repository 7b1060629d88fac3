import test, { type ExecutionContext } from 'ava';
import { type Database, isDatabaseFull, openDatabase, writes } from '../../../foundation/data/database.ts';
import { watchDisk } from '../../../foundation/data/drivers/disk-failures.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { freshDatabase } from '../../support/databases.ts';
import { Note, notes, TENANT_A } from './fixtures/notes.ts';

/*
 * A full disk, as SQLite reports it: `max_page_count` of a connection gives the same error at the same places.
 */

async function opened(t: ExecutionContext): Promise<{ readonly database: Database; readonly file: string }> {
  const { options } = (await freshDatabase(t, 'sqlite'))!;
  const database = await openDatabase(options);
  t.teardown(() => database.close());
  return { database, file: options.file! };
}

/** The disk has no room for another page from now on. */
async function fill(database: Database, pages = 1): Promise<void> {
  // SQLite makes of less than there is what there is.
  await database.system().execute(`pragma max_page_count = ${pages}`);
}

const makeRoom = (database: Database) => fill(database, 1_000_000);

test('a start on a full disk names the file, the reason and the setting', async (t) => {
  const { database, file } = await opened(t);
  await fill(database, 12);
  const error = await t.throwsAsync(database.register(kernelRegistration), { name: 'DatabaseStartError' });
  t.is(
    error?.message,
    `The SQLite file ${file} cannot be written, its disk is full: make room there, or move the files of the gateway to another disk (SVC_DATA_DIR)`,
  );
  await makeRoom(database);
  await t.notThrowsAsync(database.register(kernelRegistration));
});

const long = 'x'.repeat(100_000);
const row = (id: number, text = 'short') => ({
  id: `00000000-0000-7000-8000-${id}`.padEnd(36, '0'),
  slug: `note-${id}`,
  text,
});
const UNAVAILABLE = { code: 'database.unavailable', message: /disk is full/ };

test('while the disk is full, writes are unavailable and so is the database, until one is stored', async (t) => {
  const { database } = await opened(t);
  await database.register(notes);
  const tenant = database.forTenant(TENANT_A);
  await tenant.insert(Note, row(1));
  await fill(database);
  const attempts = {
    insert: () => tenant.insert(Note, row(2, long)),
    together: () => tenant.writeTogether([writes.insert(Note, [row(3, long)])]),
    shared: () => tenant.writeTogether([writes.insert(Note, [row(4, long)])], { shareAs: 'notes' }),
    transaction: () => tenant.transaction(async (tx) => tx.insert(Note, row(5, long))),
    savepoint: () =>
      database.transaction((em) =>
        em.transactional((inner) => inner.insert(Note, { ...row(6, long), tenantId: TENANT_A })),
      ),
    raw: () =>
      database.system().execute('insert into comments values (?, ?, ?, ?)', ['c', TENANT_A, 'n', long]),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const error = await t.throwsAsync(attempt(), UNAVAILABLE, name);
    t.true(isDatabaseFull(error), name);
  }
  await t.throwsAsync(database.ping(1000), UNAVAILABLE);
  t.is(await tenant.count(Note), 1, 'reads go on, and nothing is half stored');
  await makeRoom(database);
  await t.throwsAsync(database.ping(1000), UNAVAILABLE, 'no write has shown yet that there is room');
  await tenant.insert(Note, row(7, long));
  await t.notThrowsAsync(database.ping(1000));
});

test('a transaction that a full disk has ended stores nothing, whatever its code does then', async (t) => {
  const { database } = await opened(t);
  await database.register(notes);
  const tenant = database.forTenant(TENANT_A);
  await fill(database);
  await t.throwsAsync(
    tenant.transaction(async (tx) => {
      await tx.insert(Note, row(1));
      await t.throwsAsync(tx.insert(Note, row(2, long)), UNAVAILABLE);
      await tx.insert(Note, row(3));
    }),
    { code: 'database.unavailable' },
  );
  t.is(await tenant.count(Note), 0);
});

test('a refused write counts for a minute where nothing else is written', (t) => {
  const clock = manualClock();
  const disk = watchDisk(clock);
  disk.failed(Object.assign(new Error('syntax'), { code: '42601' }));
  t.notThrows(() => disk.assertWritable());
  for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_WRITE', '53100', 'ER_DISK_FULL', 'ER_RECORD_FILE_FULL']) {
    disk.failed(new Error('outer', { cause: Object.assign(new Error('inner'), { code }) }));
    t.throws(() => disk.assertWritable(), { code: 'database.unavailable' }, code);
    disk.stored();
    t.notThrows(() => disk.assertWritable());
  }
  disk.failed(Object.assign(new Error(), { code: 'SQLITE_FULL' }));
  clock.advance(59_000);
  t.throws(() => disk.assertWritable());
  clock.advance(2_000);
  t.notThrows(() => disk.assertWritable());
});
