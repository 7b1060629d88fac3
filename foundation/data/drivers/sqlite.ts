import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { MikroORM } from '@mikro-orm/sqlite';
import { makeFolder } from '../../base/durable-file.ts';
import { createPauses, type Pauses } from '../../base/pauses.ts';
import type { Mutex } from '../../base/semaphore.ts';
import { DatabaseErrors } from '../errors.ts';
import type { TransactionGuard } from '../transaction-guard.ts';
import { bindParameters } from './bound-parameters.ts';
import { createCheckpoints, type LogDatabase } from './checkpoints.ts';
import type { DiskWatch } from './disk-failures.ts';
import {
  type BoundStatement,
  type ConnectOptions,
  type FamilyDriver,
  MEMORY,
  superviseOrm,
  TURN_TIMEOUT_MS,
  type WriteAtOnce,
} from './driver.ts';
import { createTurn, whenFree } from './sqlite-waiting.ts';
import { keepStatements, type PreparingDatabase } from './statement-cache.ts';
import { unavailableOr } from './unavailable.ts';

/**
 * Milliseconds that SQLite itself waits for a lock; it blocks the process, so the supervised driver does the long
 * waiting.
 */
const BLOCKING_BUSY_MS = 20;
const PRAGMAS = [
  'journal_mode = wal',
  'foreign_keys = on',
  // 16 MiB: with the default of 2 every insert reads its indexes again.
  'cache_size = -16384',
  // Pages after which the log goes into the file at last, 16 MiB: what is written again and again goes there once, and
  // waits for the disk less often.
  'wal_autocheckpoint = 4000',
];

/** Pages of a database in memory at most, 1 GiB: above it, it is full, as a disk is, and the process goes on. */
const MEMORY_PAGES = 262_144;

const BEGIN = 'begin immediate';

/** Opens (and creates) one SQLite file in WAL mode. Several processes may share it. */
export async function connectSqlite(options: ConnectOptions): Promise<FamilyDriver> {
  const file = options.file ?? MEMORY;
  const inMemory = file === MEMORY;
  if (!inMemory) await makePrivate(resolve(file));
  const orm = new MikroORM({
    ...options.orm,
    dbName: file,
    driverOptions: { timeout: BLOCKING_BUSY_MS },
  });
  const mutex = createTurn(TURN_TIMEOUT_MS);
  let used = () => {};
  const turn = {
    acquire() {
      used();
      return mutex.acquire();
    },
  };
  const pauses = createPauses();
  let native: (PreparingDatabase & LogDatabase) | undefined;
  superviseOrm(orm, {
    guard: options.guard,
    disk: options.disk,
    turn,
    pauses,
    hasEnded: () => native?.inTransaction === false,
    busyTimeoutMs: TURN_TIMEOUT_MS,
    // A transaction that reads first and writes later fails at once when another connection wrote in between: take the
    // lock first.
    begin: BEGIN,
  });
  const connection = orm.driver.getConnection();
  bindParameters(connection, orm.driver.getPlatform());
  await orm.connect();
  const database: PreparingDatabase & LogDatabase = await connection.getNativeClient();
  native = database;
  const prepare = keepStatements(database);
  // Durable against the death of the process in any case, and, with `full`, against that of the machine.
  for (const pragma of [...PRAGMAS, `synchronous = ${options.synchronous}`]) {
    await connection.execute(`pragma ${pragma}`);
  }
  if (inMemory) await connection.execute(`pragma max_page_count = ${MEMORY_PAGES}`);
  const writeAtOnce = transactor({
    orm,
    native: database,
    prepare,
    turn,
    pauses,
    guard: options.guard,
    disk: options.disk,
  });
  if (inMemory) return { orm, writeAtOnce };
  const checkpoints = createCheckpoints({
    file: resolve(file),
    database,
    log: options.log,
    busyMs: BLOCKING_BUSY_MS,
  });
  used = checkpoints.used;
  return { orm, writeAtOnce, probe: await sameFile(file), release: checkpoints.close };
}

/**
 * Makes the file, and its folder, for the user of the gateway alone, where they are not there: they hold secrets.
 * SQLite by itself would let every user of the machine read the file. The log and its index get the mode of the file.
 * What is there stays as the operator has it, also where another process makes it at the same moment.
 */
async function makePrivate(file: string): Promise<void> {
  makeFolder(dirname(file));
  try {
    await (await open(file, 'wx', 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

interface TransactorParts {
  readonly orm: MikroORM;
  readonly native: PreparingDatabase;
  /** For statements without rows. */
  readonly prepare: PreparingDatabase['prepare'];
  readonly turn: Pick<Mutex, 'acquire'>;
  readonly pauses: Pauses;
  readonly guard: TransactionGuard;
  readonly disk: DiskWatch;
}

/**
 * Runs statements in a transaction of their own: their turn at the connection, and the lock of the file, are waited
 * for; after that SQLite answers each call at once, and nothing is gained by a promise for each.
 */
function transactor({ orm, native, prepare, turn, pauses, guard, disk }: TransactorParts): WriteAtOnce {
  const run = (sql: string, bindings: readonly unknown[] = []) => prepare(sql).run(bindings);
  const runAll: (statements: readonly BoundStatement[]) => boolean = (statements) => {
    try {
      const isWritten = statements.every(({ sql, bindings, expect }) => {
        const { changes } = run(sql, bindings);
        return expect === undefined || changes === expect;
      });
      run(isWritten ? 'commit' : 'rollback');
      return isWritten;
    } catch (error) {
      // On a full disk SQLite has ended the transaction already.
      if (native.inTransaction) run('rollback');
      throw error;
    }
  };
  const write: WriteAtOnce = async (statements) => {
    const pause = pauses();
    if (pause !== undefined) await pause;
    const release = await turn.acquire();
    try {
      // Waits, without blocking, where another process writes.
      await whenFree(() => run(BEGIN), TURN_TIMEOUT_MS);
      const isWritten = runAll(statements);
      if (isWritten) disk.stored();
      return isWritten;
    } catch (error) {
      disk.failed(error);
      throw orm.driver.convertException(unavailableOr(error) as Error);
    } finally {
      release();
    }
  };
  return async (statements) => {
    guard.assertNoTransaction();
    return guard.operation(() => write(statements));
  };
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
