import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { MikroORM } from '@mikro-orm/sqlite';
import { DatabaseErrors, DatabaseStartError } from '../errors.ts';
import { type ConnectOptions, type FamilyDriver, reason, superviseOrm, TURN_TIMEOUT_MS } from './driver.ts';
import { keepStatements } from './statement-cache.ts';

/** Milliseconds that SQLite itself waits for a lock; it blocks the process, so the supervised driver does the long waiting. */
const BLOCKING_BUSY_MS = 20;
const MEMORY = ':memory:';
/** Durable against the death of the process; 16 MiB of cache, since with the default of 2 every insert reads its indexes anew. */
const PRAGMAS = ['journal_mode = wal', 'synchronous = normal', 'foreign_keys = on', 'cache_size = -16384'];

/** Opens (and creates) one SQLite file in WAL mode. Several processes may share it. */
export async function connectSqlite(options: ConnectOptions): Promise<FamilyDriver> {
  const file = options.file ?? MEMORY;
  const inMemory = file === MEMORY;
  try {
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
      begin: 'begin immediate',
    });
    await orm.connect();
    const connection = orm.driver.getConnection();
    keepStatements(await connection.getNativeClient());
    for (const pragma of PRAGMAS) {
      await connection.execute(`pragma ${pragma}`);
    }
    if (inMemory) return { orm };
    return { orm, probe: await sameFile(file) };
  } catch (error) {
    throw new DatabaseStartError(`The SQLite file ${file} cannot be opened: ${reason(error)}`, {
      cause: error,
    });
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
