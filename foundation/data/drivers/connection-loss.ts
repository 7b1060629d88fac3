import { DatabaseErrors } from '../errors.ts';

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
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
]);
/** SQLSTATEs of PostgreSQL: connection exceptions, too many connections, and the server's shutdown or start. */
const SQL_STATE = /^(08...|53300|57P0[1235])$/;
/** pg and its pool name these by their text alone. */
const TEXT =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)|closed state$/;

/** Throws `database.unavailable` in place of a failure to reach the server, and every other error as it is. */
export function asUnavailable(error: unknown): never {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const lost =
    (typeof code === 'string' && (CODES.has(code) || SQL_STATE.test(code))) ||
    (typeof message === 'string' && TEXT.test(message));
  throw lost ? DatabaseErrors.unavailable(undefined, { cause: error }) : error;
}
