import test, { type ExecutionContext } from 'ava';
import { type Database, openDatabase, writes } from '../../../foundation/data/database.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { Note, notes, TENANT_A } from './fixtures/notes.ts';

/** Rows that a list without a limit may have. */
const MOST = 10_000;

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  return database;
}

async function fill(database: Database, from: number, to: number): Promise<void> {
  const rows = Array.from({ length: to - from }, (_, index) => {
    const id = String(from + index);
    return { id, slug: id, text: '' };
  });
  for (let at = 0; at < rows.length; at += 1000)
    await database.forTenant(TENANT_A).insertMany(Note, rows.slice(at, at + 1000));
}

eachDatabase(test, 'a list without a limit has so many rows at most', async (t, fresh) => {
  const database = await open(t, fresh);
  const entities = database.forTenant(TENANT_A);
  await fill(database, 0, MOST);
  t.is((await entities.find(Note, {})).length, MOST);
  const [all, counted] = await entities.findAndCount(Note, {}, { fields: ['id'] });
  t.deepEqual([all.length, counted], [MOST, MOST]);

  await fill(database, MOST, MOST + 1);
  const refused = { name: 'DatabaseDefect', message: /^More than 10000 rows of Note match: give a limit/ };
  await t.throwsAsync(entities.find(Note, {}), refused);
  await t.throwsAsync(entities.find(Note, {}, { orderBy: { id: 'asc' } }), refused);
  await t.throwsAsync(entities.findAndCount(Note, {}), refused);
  t.is((await entities.find(Note, {}, { limit: MOST + 1 })).length, MOST + 1, 'a limit of the caller counts');
  const [page, total] = await entities.findAndCount(Note, {}, { limit: 3 });
  t.deepEqual([page.length, total], [3, MOST + 1]);
});

/** Whether a timer had its turn while `run` was under way. */
async function timersHadTurn(run: () => Promise<unknown>): Promise<boolean> {
  let hadTurn = false;
  const timer = setTimeout(() => {
    hadTurn = true;
  }, 1);
  await run();
  clearTimeout(timer);
  return hadTurn;
}

/** Statements for which SQLite needs some hundred milliseconds. */
const MANY = 3000;

test('timers and sockets have their turn between many statements of SQLite', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const database = await open(t, fresh);
  const entities = database.forTenant(TENANT_A);
  const reads = async (from: typeof entities) => {
    for (let count = 0; count < MANY; count += 1) await from.rows(Note, { id: 'none' }, { limit: 1 });
  };
  t.true(await timersHadTurn(() => reads(entities)), 'statements alone');
  t.true(await timersHadTurn(() => entities.transaction(reads)), 'a transaction');
  const write = (slug: string) =>
    entities.writeTogether([
      writes.update(Note, { slug }, { text: '1' }),
      writes.update(Note, { slug }, { text: '2' }),
    ]);
  const written = async () => {
    for (let count = 0; count < MANY; count += 1) await write('none');
  };
  t.true(await timersHadTurn(written), 'writes at once');
});
