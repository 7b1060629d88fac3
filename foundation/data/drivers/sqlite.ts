import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { MikroORM } from '@mikro-orm/sqlite';
import { CompiledQuery } from 'kysely';
import { DatabaseErrors } from '../errors.ts';
import { bindParameters } from './bound-parameters.ts';
import {
  type BoundStatement,
  type ConnectOptions,
  type FamilyDriver,
  MEMORY,
  superviseOrm,
  TURN_TIMEOUT_MS,
  type WriteAtOnce,
} from './driver.ts';
import { keepStatements, type PreparingDatabase } from './statement-cache.ts';
import { isBusy } from './supervised-driver.ts';

/** Milliseconds that SQLite itself waits for a lock; it blocks the process, so the supervised driver does the long waiting. */
const BLOCKING_BUSY_MS = 20;
const PRAGMAS = [
  'journal_mode = wal',
  // Durable against the death of the process.
  'synchronous = normal',
  'foreign_keys = on',
  // 16 MiB: with the default of 2 every insert reads its indexes anew.
  'cache_size = -16384',
  // Pages after which the log goes into the file, 16 MiB: what is written again and again goes there once, and waits for the disk less often.
  'wal_autocheckpoint = 4000',
];

const BEGIN = 'begin immediate';

/** Opens (and creates) one SQLite file in WAL mode. Several processes may share it. */
export async function connectSqlite(options: ConnectOptions): Promise<FamilyDriver> {
  const file = options.file ?? MEMORY;
  const inMemory = file === MEMORY;
  if (!inMemory) await mkdir(dirname(resolve(file)), { recursive: true });
  const orm = new MikroORM({
    ...options.orm,
    dbName: file,
    driverOptions: { timeout: BLOCKING_BUSY_MS },
  });
  superviseOrm(orm, {
    guard: options.guard,
    turnTimeoutMs: TURN_TIMEOUT_MS,
    busyTimeoutMs: TURN_TIMEOUT_MS,
    // A transaction that reads first and writes later fails at once when somebody wrote in between: take the lock first.
    begin: BEGIN,
  });
  const connection = orm.driver.getConnection();
  bindParameters(connection, orm.driver.getPlatform());
  await orm.connect();
  const native = await connection.getNativeClient();
  keepStatements(native);
  for (const pragma of PRAGMAS) {
    await connection.execute(`pragma ${pragma}`);
  }
  const writeAtOnce = transactor(orm, native);
  if (inMemory) return { orm, writeAtOnce };
  return { orm, writeAtOnce, probe: await sameFile(file) };
}

/**
 * Runs statements in a transaction of their own: their turn at the connection, and the lock of the file, are waited for; after that SQLite answers each
 * call at once, and nothing is gained by a promise for each.
 */
function transactor(orm: MikroORM, native: PreparingDatabase): WriteAtOnce {
  const { driver } = orm;
  const end = (how: 'commit' | 'rollback') => native.prepare(how).run([]);
  const runAll: (statements: readonly BoundStatement[]) => boolean = (statements) => {
    try {
      const isWritten = statements.every(({ sql, bindings, expect }) => {
        const { changes } = native.prepare(sql).run(bindings);
        return expect === undefined || changes === expect;
      });
      end(isWritten ? 'commit' : 'rollback');
      return isWritten;
    } catch (error) {
      // A full disk ends the transaction by itself.
      if (native.inTransaction) end('rollback');
      throw error;
    }
  };
  return async (statements) => {
    try {
      const connection = driver.getConnection().getClient().connection();
      return await connection.execute(async (own) => {
        // Waits, without blocking, where another process writes.
        if (!tryBegin(native)) await own.executeQuery(CompiledQuery.raw(BEGIN));
        return runAll(statements);
      });
    } catch (error) {
      throw driver.convertException(error as Error);
    }
  };
}

/** False where another process has the lock. */
function tryBegin(native: PreparingDatabase): boolean {
  try {
    native.prepare(BEGIN).run([]);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/** An open file survives its deletion, and its data would be lost with the process: the path must still lead to it. */
async function sameFile(file: string): Promise<() => Promise<void>> {
  const { dev, ino } = await stat(file);
  return async () => {
    const now = await stat(file).catch(() => undefined);
    if (now?.ino === ino && now.dev === dev) return;
    throw DatabaseErrors.unavailable('The database file is gone');
  };
}
