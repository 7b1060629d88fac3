import { symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Logger } from 'pino';
import { createCheckpoints, type LogDatabase } from '../../../../foundation/data/drivers/checkpoints.ts';
import { temporaryFolder } from '../../../support/gateway-process.ts';
import { until } from '../../../support/until.ts';

interface Connection extends LogDatabase {
  prepare(sql: string): {
    run(...values: readonly unknown[]): unknown;
    get(): unknown;
    iterate(): Iterator<unknown>;
  };
  exec(sql: string): void;
  close(): void;
}

const library = createRequire(import.meta.resolve('@mikro-orm/sqlite')).resolve('better-sqlite3');
const Sqlite = createRequire(import.meta.url)(library) as new (file: string) => Connection;

/** A file that SQLite itself would not move the log into, and what moves it. */
async function open(t: ExecutionContext, file?: string, againMs?: number) {
  const at = path.join(await temporaryFolder(t), 'gateway.db');
  const database = new Sqlite(at);
  t.teardown(() => database.close());
  for (const pragma of ['journal_mode = wal', 'synchronous = normal', 'wal_autocheckpoint = 0'])
    database.pragma(pragma);
  database.exec('create table notes (text text)');
  const warnings: object[] = [];
  const log = { warn: (details: object) => void warnings.push(details) } as unknown as Logger;
  const checkpoints = createCheckpoints({ file: file ?? at, database, log, busyMs: 20, againMs });
  t.teardown(checkpoints.close);
  const insert = database.prepare('insert into notes values (?)');
  /** As many pages. */
  const write = (pages: number) => {
    for (let page = 0; page < pages; page += 1) insert.run('x'.repeat(4_000));
    checkpoints.used();
  };
  const waiting = () => {
    const [{ log: all, checkpointed }] = database.pragma('wal_checkpoint(noop)') as [
      { log: number; checkpointed: number },
    ];
    return all - checkpointed;
  };
  return { at, database, checkpoints, write, waiting, warnings };
}

test('a long log is moved beside the process, again and again, and nothing of it is lost', async (t) => {
  const { at, database, checkpoints, write, waiting, warnings } = await open(t);
  for (let round = 1; round <= 3; round += 1) {
    write(1_500);
    t.true(waiting() >= 1_000);
    await until(() => waiting() === 0, 30_000);
  }
  await checkpoints.close();
  const other = new Sqlite(at);
  t.deepEqual(other.prepare('select count(*) as count from notes').get(), { count: 4_500 });
  other.close();
  t.deepEqual(warnings, []);
  t.true(database.open);
});

test('a short log is left as it is, and a connection that is in use is looked at later', async (t) => {
  const { database, write, waiting } = await open(t);
  write(100);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.true(waiting() >= 100);
  database.exec('begin immediate');
  write(1_500);
  await new Promise((resolve) => setTimeout(resolve, 200));
  database.exec('commit');
  t.true(waiting() > 1_500);
  await until(() => waiting() === 0, 30_000);
  write(1_500);
  const rows = database.prepare('select text from notes').iterate();
  rows.next();
  await new Promise((resolve) => setTimeout(resolve, 200));
  rows.return?.();
  t.true(waiting() >= 1_500);
  await until(() => waiting() === 0, 30_000);
});

test('a thread that cannot open the file is named once, and the process goes on without it', async (t) => {
  const { checkpoints, write, waiting, warnings } = await open(t, '/nowhere/gateway.db');
  write(1_500);
  await until(() => warnings.length === 1, 30_000);
  t.regex(String((warnings[0] as { err: unknown }).err), /directory does not exist|unable to open/);
  write(1_500);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.true(waiting() >= 3_000);
  t.is(warnings.length, 1);
  await checkpoints.close();
});

test('a thread that failed starts again when its disk can be used again', async (t) => {
  const link = path.join(await temporaryFolder(t), 'gateway.db');
  const { at, checkpoints, write, waiting, warnings } = await open(t, link, 20);
  write(1_500);
  await until(() => warnings.length >= 2, 30_000);
  t.true(waiting() >= 1_000);
  await symlink(at, link);
  await until(() => waiting() === 0, 30_000);
  const told = warnings.length;
  write(1_500);
  await until(() => waiting() === 0, 30_000);
  t.is(warnings.length, told);
  await checkpoints.close();
});
