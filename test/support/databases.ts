import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext, SerialFn, TestFn } from 'ava';
import pino from 'pino';
import { systemClock } from '../../foundation/base/clock.ts';
import type { DatabaseOptions } from '../../foundation/data/database.ts';
import type { Family } from '../../foundation/data/family.ts';
import { askDatabase, createDatabase } from '../../testing/fresh-database.ts';
import { lend, lendEmpty, putTables } from './database-pool.ts';
import { chosen, SEED } from './sample.ts';
import { answers, available } from './services.ts';

export const ALL_FAMILIES: readonly Family[] = ['sqlite', 'postgres', 'mysql'];

/**
 * How many families a test that is for all of them is declared for: `one`, `two` (SQLite and a server), or `all`, as in
 * `npm run test:long`. The seed chooses.
 */
const DECLARED = process.env.TEST_DATABASES ?? 'all';

/** The servers that tests are declared for. */
export const SERVER_FAMILIES =
  DECLARED === 'all' ? (['postgres', 'mysql'] as const) : chosen('server', ['postgres', 'mysql'] as const, 1);

/** The families of tests that are declared in a loop over them. */
export const FAMILIES: readonly Family[] = ['sqlite', ...SERVER_FAMILIES];

const SERVERS = {
  postgres: { service: 'postgres', url: 'postgres://root@127.0.0.1:5432' },
  mysql: { service: 'mariadb', url: 'mysql://root@127.0.0.1:3306' },
} as const;

/** The families among which one is chosen for a test: those that answer, or all where none may be missing. */
const CHOICE = await familiesThatAnswer();

async function familiesThatAnswer(): Promise<readonly Family[]> {
  if (DECLARED !== 'one' || process.env.REQUIRE_SERVICES === '1') return ALL_FAMILIES;
  const up = await Promise.all([true, answers(SERVERS.postgres.service), answers(SERVERS.mysql.service)]);
  return ALL_FAMILIES.filter((_, index) => up[index]);
}

/** A database that one test has. */
export interface FreshDatabase {
  readonly family: Family;
  /** For `openDatabase`, with the transaction guard on. */
  readonly options: DatabaseOptions;
  /** The same for a whole gateway. */
  readonly environment: {
    readonly DATABASE_DRIVER: Family;
    readonly DATABASE_URL?: string;
    readonly SVC_DATA_DIR?: string;
    readonly SVC_DEPLOYMENT?: string;
  };
  /** Asks the database past the kernel, as the role that the URL names (a superuser); on SQLite use the file. */
  ask(sql: string): Promise<Record<string, unknown>[]>;
}

/**
 * A database of the family with the tables of the kernel and of the bundled plugins, and without rows but those that
 * migrations write. Answers `undefined` when its server is missing (the test is then marked as skipped, or failed with
 * `REQUIRE_SERVICES=1`).
 *
 * @example
 * const fresh = await gatewayDatabase(t, 'postgres');
 * if (fresh === undefined) return;
 */
export async function gatewayDatabase(
  t: ExecutionContext,
  family: Family,
): Promise<FreshDatabase | undefined> {
  await takePlace(t);
  if (family === 'sqlite') {
    const fresh = await emptyFile(t);
    await putTables(fresh.options.file);
    return fresh;
  }
  if (!(await available(t, SERVERS[family].service))) return undefined;
  const { url, giveBack } = await lend(family, SERVERS[family].url);
  t.teardown(giveBack);
  return onServer(family, url);
}

/** The same without any table, for tests that make their own. */
export async function freshDatabase(t: ExecutionContext, family: Family): Promise<FreshDatabase | undefined> {
  await takePlace(t);
  if (family === 'sqlite') return emptyFile(t);
  if (!(await available(t, SERVERS[family].service))) return undefined;
  if (family === 'postgres') {
    const { url, giveBack } = await lendEmpty(SERVERS.postgres.url);
    t.teardown(giveBack);
    return onServer(family, url);
  }
  const { url, drop } = await createDatabase(SERVERS.mysql.url);
  t.teardown(drop);
  return onServer(family, url);
}

type OnDatabase = (t: ExecutionContext, fresh: FreshDatabase) => Promise<void>;

/**
 * Defines one test per family, with `TEST_DATABASES=one` for one of them; each run has a database of its own that is
 * ready for a gateway, see `gatewayDatabase`.
 */
export function eachGatewayDatabase(test: TestFn | SerialFn, title: string, run: OnDatabase): void {
  each(test, title, gatewayDatabase, run);
}

/**
 * The same with one family, by the seed, and with all in `npm run test:long`: where a test takes seconds, and what
 * differs between the families has tests of its own.
 */
export function sampledGatewayDatabase(test: TestFn | SerialFn, title: string, run: OnDatabase): void {
  const withSeed: OnDatabase = (t, fresh) => {
    t.log(`TEST_SEED=${SEED}`);
    return run(t, fresh);
  };
  each(test, title, gatewayDatabase, withSeed, chosen(title, CHOICE, 1));
}

/** The same; each run has an empty database of its own. */
export function eachDatabase(test: TestFn | SerialFn, title: string, run: OnDatabase): void {
  each(test, title, freshDatabase, run);
}

function each(
  test: TestFn | SerialFn,
  title: string,
  make: typeof freshDatabase,
  run: OnDatabase,
  families = DECLARED === 'one' ? chosen(title, CHOICE, 1) : FAMILIES,
): void {
  for (const family of families) {
    test(`${family}: ${title}`, async (t) => {
      const fresh = await make(t, family);
      if (fresh !== undefined) await run(t, fresh);
    });
  }
}

function onServer(family: 'postgres' | 'mysql', url: string): FreshDatabase {
  return {
    family,
    options: { driver: family, url, ...common },
    environment: {
      DATABASE_DRIVER: family,
      DATABASE_URL: url,
      // What is said in Redis under the name of a deployment reaches no test that has the same database later.
      SVC_DEPLOYMENT: `test-${randomBytes(8).toString('hex')}`,
    },
    ask: (sql) => askDatabase(url, sql),
  };
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

async function emptyFile(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  return {
    family: 'sqlite' as const,
    options: { driver: 'sqlite' as const, file, ...common },
    environment: { DATABASE_DRIVER: 'sqlite' as const, SVC_DATA_DIR: folder },
    ask: async (sql: string): Promise<Record<string, unknown>[]> => {
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
