import { MikroORM, type Options } from '@mikro-orm/mysql';
import type { MikroORM as AnyOrm } from '@mikro-orm/sql';
import { CompiledQuery, type DatabaseConnection } from 'kysely';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectOptions,
  type FamilyDriver,
  LOCK_TIMEOUT_SECONDS,
  quoted,
  superviseOrm,
} from './driver.ts';

/** Milliseconds beyond the server's own limit after which a silent server's connection is given up. */
const ANSWER_GRACE_MS = 5_000;
/** For a row: those are held by short transactions, of which many may wait for one row. */
const LOCK_WAIT_SECONDS = 10;

const SQL_MODE = [
  'STRICT_TRANS_TABLES',
  'ONLY_FULL_GROUP_BY',
  'NO_ZERO_IN_DATE',
  'NO_ZERO_DATE',
  'ERROR_FOR_DIVISION_BY_ZERO',
  'NO_ENGINE_SUBSTITUTION',
].join(',');

/** Connects to MySQL 8 or MariaDB 10.6 and newer; the server's version says which of the two ORM drivers fits. */
export async function connectMySql(options: ConnectOptions): Promise<FamilyDriver> {
  const given = options.url ?? '';
  const settings = ormSettings(given, options);
  const orm = await connect(new MikroORM(settings), options);
  const version = String(await single(orm, 'select version() as value'));
  const isMariaDb = /mariadb/i.test(version);
  if (!isMariaDb) return family(orm, 'utf8mb4_0900_bin');
  await orm.close();
  const { MikroORM: MariaDbOrm } = await import('@mikro-orm/mariadb');
  return family(await connect(new MariaDbOrm(settings as object), options), 'utf8mb4_nopad_bin');
}

/** `collation` compares byte by byte, spaces at the end included, as the other families do. */
function family(orm: AnyOrm, collation: string): FamilyDriver {
  return {
    orm,
    tableOptions: `engine = InnoDB default character set utf8mb4 collate ${collation}`,
    clockSql: 'unix_timestamp(now(3)) * 1000',
  };
}

async function connect(orm: AnyOrm, options: ConnectOptions): Promise<AnyOrm> {
  const supervision = {
    guard: options.guard,
    disk: options.disk,
    poolTimeoutMs: CONNECT_TIMEOUT_MS,
    ...(options.statementTimeoutMs > 0
      ? { answerTimeoutMs: options.statementTimeoutMs + ANSWER_GRACE_MS }
      : {}),
  };
  superviseOrm(orm, supervision, quoted);
  try {
    await orm.connect();
    return orm;
  } catch (error) {
    // Its pool would keep trying, and the process alive.
    await orm.close(true).catch(() => undefined);
    throw error;
  }
}

function ormSettings(url: string, options: ConnectOptions): Options {
  return {
    ...(options.orm as Options),
    clientUrl: url,
    pool: { min: 0, max: options.maxConnections },
    charset: 'utf8mb4',
    forceUtcTimezone: true,
    driverOptions: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      enableKeepAlive: true,
      keepAliveInitialDelay: 10_000,
      // mysql2 writes values into the text: of an object it would make names and values.
      stringifyObjects: true,
      ...tlsOptions(url),
    },
    onCreateConnection: (connection) => prepareSession(connection as DatabaseConnection, options),
  };
}

/** `?ssl-mode=` as MySQL's own clients spell it; MikroORM reads no parameters of the URL. */
function tlsOptions(url: string): object {
  const mode = new URL(url).searchParams.get('ssl-mode')?.toUpperCase() ?? 'DISABLED';
  if (mode === 'DISABLED' || mode === 'PREFERRED') return {};
  const verifyIdentity = mode === 'VERIFY_IDENTITY';
  return { ssl: { rejectUnauthorized: verifyIdentity || mode === 'VERIFY_CA', verifyIdentity } };
}

/** What statements of the gateway take for granted, and a server may have otherwise. */
const USUAL = 'autocommit = 1, sql_safe_updates = 0, sql_select_limit = 18446744073709551615';

/**
 * Times in UTC, strict mode whatever the server's default is, and "read committed" as on PostgreSQL: with InnoDB's
 * default, a transaction would not see what others committed, and lock gaps between rows.
 */
async function prepareSession(connection: DatabaseConnection, options: ConnectOptions): Promise<void> {
  const run = (statement: string) => connection.executeQuery(CompiledQuery.raw(statement));
  await run(
    `set session time_zone = '+00:00', sql_mode = '${SQL_MODE}', ${USUAL}, innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`,
  );
  await run('set session transaction isolation level read committed');
  if (options.statementTimeoutMs > 0) await run(`set session lock_wait_timeout = ${LOCK_TIMEOUT_SECONDS}`);
  const { rows } = await run(
    `show variables where variable_name in ('max_statement_time', 'max_execution_time')`,
  );
  const names = (rows as { Variable_name: string }[]).map((row) => row.Variable_name);
  if (names.includes('max_statement_time')) {
    await run(`set session max_statement_time = ${options.statementTimeoutMs / 1000}`);
  } else if (names.includes('max_execution_time')) {
    await run(`set session max_execution_time = ${options.statementTimeoutMs}`);
  }
}

async function single(orm: AnyOrm, query: string): Promise<unknown> {
  const [row] = await orm.driver.getConnection().execute<{ value: unknown }[]>(query);
  return row?.value;
}
