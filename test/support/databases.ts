import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext, SerialFn, TestFn } from 'ava';
import pino from 'pino';
import { systemClock } from '../../foundation/base/clock.ts';
import type { DatabaseOptions } from '../../foundation/data/database.ts';
import type { Family } from '../../foundation/data/family.ts';
import { askDatabase, createDatabase } from '../../testing/fresh-database.ts';
import { available } from './services.ts';

export const FAMILIES: readonly Family[] = ['sqlite', 'postgres', 'mysql'];

const POSTGRES = 'postgres://root@127.0.0.1:5432';
const MARIADB = 'mysql://root@127.0.0.1:3306';

/** An empty database for one test; it is dropped when the test ends. */
export interface FreshDatabase {
  readonly family: Family;
  /** For `openDatabase`, with the transaction guard on. */
  readonly options: DatabaseOptions;
  /** The same for a whole gateway. */
  readonly environment: {
    readonly DATABASE_DRIVER: Family;
    readonly DATABASE_URL?: string;
    readonly SVC_DATA_DIR?: string;
  };
  /** Asks the database past the kernel, as the role that the URL names (a superuser); on SQLite use the file. */
  ask(sql: string): Promise<Record<string, unknown>[]>;
}

/**
 * Makes an empty database of the family, or answers `undefined` when its server is missing (the test is then marked as skipped,
 * or failed with `REQUIRE_SERVICES=1`).
 *
 * @example
 * const fresh = await freshDatabase(t, 'postgres');
 * if (fresh === undefined) return;
 */
export async function freshDatabase(t: ExecutionContext, family: Family): Promise<FreshDatabase | undefined> {
  await takePlace(t);
  if (family === 'sqlite') return freshFile(t);
  if (!(await available(t, family === 'postgres' ? 'postgres' : 'mariadb'))) return undefined;
  const { url, drop } = await createDatabase(family === 'postgres' ? POSTGRES : MARIADB);
  t.teardown(drop);
  return {
    family,
    options: { driver: family, url, ...common },
    environment: { DATABASE_DRIVER: family, DATABASE_URL: url },
    ask: (sql) => askDatabase(url, sql),
  };
}

/** Defines one test per family; each run has an empty database of its own. */
export function eachDatabase(
  test: TestFn | SerialFn,
  title: string,
  run: (t: ExecutionContext, fresh: FreshDatabase) => Promise<void>,
): void {
  for (const family of FAMILIES) {
    test(`${family}: ${title}`, async (t) => {
      const fresh = await freshDatabase(t, family);
      if (fresh !== undefined) await run(t, fresh);
    });
  }
}

/** Tests of one process that have a database at one time: a server has a bounded number of connections. */
const PLACES = 4;
const placed = new WeakSet<ExecutionContext>();
const queue: (() => void)[] = [];
let taken = 0;

/** Waits until the test may have databases; it keeps its place until it ends. */
async function takePlace(t: ExecutionContext): Promise<void> {
  if (placed.has(t)) return;
  placed.add(t);
  if (taken < PLACES) taken += 1;
  else await new Promise<void>((resolve) => queue.push(resolve));
  t.teardown(() => {
    const next = queue.shift();
    if (next === undefined) taken -= 1;
    else next();
  });
}

const common = { log: pino({ level: 'silent' }), clock: systemClock, guardTransactions: true };

async function freshFile(t: ExecutionContext): Promise<FreshDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  return {
    family: 'sqlite',
    options: { driver: 'sqlite', file, ...common },
    environment: { DATABASE_DRIVER: 'sqlite', SVC_DATA_DIR: folder },
    ask: async (sql) => {
      const { MikroORM } = await import('@mikro-orm/sqlite');
      const orm = new MikroORM({ entities: [], discovery: { warnWhenNoEntities: false }, dbName: file });
      try {
        await orm.connect();
        return await orm.driver.getConnection().execute(sql);
      } finally {
        await orm.close(true);
      }
    },
  };
}
