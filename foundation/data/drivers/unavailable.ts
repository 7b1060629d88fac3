import { DatabaseErrors } from '../errors.ts';
import { diskUnavailable } from './disk-failures.ts';

/** Codes of the operating system and of mysql2 for a connection that was not made or is no more. */
const CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'PROTOCOL_CONNECTION_LOST',
  'ER_CON_COUNT_ERROR',
  'ER_USER_LIMIT_REACHED',
  'ER_TOO_MANY_USER_CONNECTIONS',
  'ER_ACCESS_DENIED_ERROR',
  'ER_BAD_DB_ERROR',
  'ER_HOST_IS_BLOCKED',
  'ER_HOST_NOT_PRIVILEGED',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
]);
/**
 * SQLSTATEs of PostgreSQL: connection exceptions, too many connections, the server's shutdown or start, and what it
 * says to a new connection that it does not let in, as after a change of the password.
 */
const SQL_STATE = /^(08...|28000|28P01|3D000|53300|57P0[1235])$/;
/** SQLite opens further files for a statement, and has no file handle or no folder for them. */
const CANNOT_OPEN = /^SQLITE_CANTOPEN/;
/**
 * A statement that the server has undone since it took too long: PostgreSQL, MySQL (MariaDB has the number alone),
 * SQLite.
 */
const SLOW = /^(57014|ER_QUERY_TIMEOUT|SQLITE_BUSY.*)$/;
/** The same for one that waited for a lock. */
const LOCKED = /^(55P03|ER_LOCK_WAIT_TIMEOUT)$/;
const SLOW_ON_MARIADB = 1969;
/** pg and its pool name these by their text alone. */
const TEXT =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)|closed state$/;

/**
 * Throws `database.unavailable` in place of a failure to reach the server, or of its disk, or to be answered in time,
 * and every other error as it is.
 */
export function asUnavailable(error: unknown): never {
  throw unavailableOr(error);
}

/** The same as a value. */
export function unavailableOr(error: unknown): unknown {
  const disk = diskUnavailable(error);
  if (disk !== undefined) return disk;
  const { code, errno, message } = error as { code?: unknown; errno?: unknown; message?: unknown };
  if (errno === SLOW_ON_MARIADB || (typeof code === 'string' && SLOW.test(code)))
    return DatabaseErrors.unavailable('The database did not answer in time', { cause: error });
  if (typeof code === 'string' && LOCKED.test(code))
    return DatabaseErrors.unavailable('Something else has locked this in the database for too long', {
      cause: error,
    });
  const lost =
    (typeof code === 'string' && (CODES.has(code) || SQL_STATE.test(code) || CANNOT_OPEN.test(code))) ||
    (typeof message === 'string' && TEXT.test(message));
  return lost ? DatabaseErrors.unavailable(undefined, { cause: error }) : error;
}
