import type { AbstractSqlConnection, DriverException, MikroORM, Options } from '@mikro-orm/sql';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import { DatabaseDefect, DatabaseErrors } from '../errors.ts';
import type { Family } from '../family.ts';
import type { TransactionGuard } from '../transaction-guard.ts';
import type { DiskWatch } from './disk-failures.ts';
import { type Supervision, supervise } from './supervised-driver.ts';
import { assertStorable } from './values.ts';

/** What a family's connect function gets. */
export interface ConnectOptions {
  /** Connection URL of a server. */
  readonly url?: string;
  /** Path of the SQLite file, or `:memory:`. */
  readonly file?: string;
  /** The variable that says where it is. */
  readonly setBy?: string;
  /** Whether a commit on SQLite waits for the disk. */
  readonly synchronous: 'normal' | 'full';
  readonly log: Logger;
  readonly clock: Clock;
  readonly guard: TransactionGuard;
  /** Learns of every write. */
  readonly disk: DiskWatch;
  /** Most connections at one time. */
  readonly maxConnections: number;
  /** Milliseconds that one statement may take on a server. */
  readonly statementTimeoutMs: number;
  /** MikroORM settings that all families share. */
  readonly orm: Omit<Options, 'driver' | 'entityManager'>;
}

/** Connects to a database of a family. */
export type Connect = (family: Family, options: ConnectOptions) => Promise<FamilyDriver>;

/** A statement with its values, and how many rows it has to match. */
export interface BoundStatement {
  readonly sql: string;
  readonly bindings: readonly unknown[];
  readonly expect: number | undefined;
}

/**
 * Runs statements in one transaction of their own. False, and nothing is changed, when one matched another number of
 * rows than it expects.
 */
export type WriteAtOnce = (statements: readonly BoundStatement[]) => Promise<boolean>;

/** One family of databases, connected. */
export interface FamilyDriver {
  readonly orm: MikroORM;
  /** Text after the `create table` of a migration: character set and collation where the family has them. */
  readonly tableOptions?: string;
  /** Expression of the database's clock in milliseconds since the epoch; absent where the process is the database. */
  readonly clockSql?: string;
  /** Where a transaction of several statements can be run without waiting in between. */
  readonly writeAtOnce?: WriteAtOnce;
  /** Throws when the database behind an open connection is gone in a way that a query does not show. */
  probe?(): Promise<void>;
  /** Ends what works next to the connection, before that is closed. */
  release?(): Promise<void>;
}

/** SQLite's name for a database that is in no file. */
export const MEMORY = ':memory:';
/** Milliseconds to reach a server or to get a connection of the pool. */
export const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Seconds that a statement waits for a lock: of a table, and on PostgreSQL of a row too. Who waits has a connection, so
 * it is less than others wait for one of the pool: a table that an operator has locked, or that is being altered, does
 * not keep those waiting who do not need it. Migrations wait longer.
 */
export const LOCK_TIMEOUT_SECONDS = 4;
/** Milliseconds that a user waits for SQLite's one connection, and that a process waits for another one's write. */
export const TURN_TIMEOUT_MS = 10_000;

type Transactional = AbstractSqlConnection['transactional'];

/**
 * Puts the connection of an ORM under supervision, before it connects: its driver's operations are known to the guard,
 * every transaction's callback runs inside the guard, text that cannot be stored is refused, and our own errors pass
 * unchanged. MikroORM chooses the classes of driver and connection itself, so the objects are completed instead of four
 * subclasses being made of each.
 */
export function superviseOrm(
  orm: MikroORM,
  supervision: Supervision,
  literal?: (text: string) => string,
): void {
  const { driver } = orm;
  const connection = driver.getConnection();
  const createDialect = connection.createKyselyDialect.bind(connection);
  connection.createKyselyDialect = async (overrides) =>
    supervise(await createDialect(overrides), supervision);

  const transactional: Transactional = connection.transactional.bind(connection);
  connection.transactional = (callback, options = {}) => {
    // A savepoint lies inside a transaction that is watched already.
    if (options.ctx !== undefined) return transactional(callback, options);
    return transactional((transaction) => supervision.guard.run(() => callback(transaction)), options);
  };

  const platform = driver.getPlatform();
  const escapeValue = platform.escape.bind(platform);
  platform.escape = (value) => {
    assertStorable(value);
    return literal !== undefined && typeof value === 'string' ? literal(value) : escapeValue(value);
  };

  const convert = driver.convertException.bind(driver);
  driver.convertException = (error) => {
    const isOurs = error instanceof GatewayError || error instanceof DatabaseDefect;
    if (isOurs) return error as Error as DriverException;
    return isRefusedValue(error as ServerError)
      ? (DatabaseErrors.invalidValue(undefined, { cause: error }) as Error as DriverException)
      : convert(error);
  };
}

/**
 * A text in quotation marks, for servers where a backslash escapes. MikroORM's is put together piece by piece: of some
 * megabytes with quotation marks that leaves the garbage collector so much that nothing else goes on for seconds. So
 * would `replaceAll`.
 */
export function quoted(text: string): string {
  return `'${text.split('\\').join('\\\\').split("'").join("''")}'`;
}

/** What servers say of a value that a column does not take: too long, out of range, or text that is none. */
const REFUSED_VALUE: ReadonlySet<string> = new Set([
  '22001',
  '22003',
  '22021',
  '22P02',
  '22P05',
  'ER_DATA_TOO_LONG',
  'ER_INVALID_JSON_TEXT',
  'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
  'ER_WARN_DATA_OUT_OF_RANGE',
]);

interface ServerError {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly message: string;
}

/**
 * MariaDB says of JSON that it does not take (half a surrogate pair) that the check of that column fails, in the
 * language of the server: `<table>.<column>` is the name of such a check, and of no other.
 */
function isRefusedValue({ code, errno, message }: ServerError): boolean {
  return REFUSED_VALUE.has(String(code)) || (errno === 4025 && /`[^`]+\.[^`]+`/.test(message));
}

/** The URL without its password, for messages; a text that is no URL is not shown at all. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)';
  const parsed = new URL(url);
  if (parsed.password !== '') parsed.password = '***';
  for (const name of parsed.searchParams.keys()) {
    if (/pass|key|secret|token/i.test(name)) parsed.searchParams.set(name, '***');
  }
  return parsed.href;
}

/** The text of a failed connection for the operator: the original one where it was translated for callers. */
export function reason(error: unknown): string {
  const original = error instanceof GatewayError ? (error.cause ?? error) : error;
  const { message, code } = original as { message?: string; code?: unknown };
  return message || String(code);
}
