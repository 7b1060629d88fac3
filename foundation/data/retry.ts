import { setTimeout as sleep } from 'node:timers/promises';

/** PostgreSQL: serialization failure, deadlock. */
const SQL_STATES = new Set(['40001', '40P01']);
/** MySQL: deadlock, lock wait timeout. */
const MYSQL_ERRORS = new Set([1213, 1205]);
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;

/** True when a transaction lost a race against another one and may win the next: it has changed nothing. */
export function lostRace(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, errno } = cause as { code?: unknown; errno?: unknown };
    if (typeof code === 'string' && (SQL_STATES.has(code) || code.startsWith('SQLITE_BUSY'))) return true;
    if (typeof errno === 'number' && MYSQL_ERRORS.has(errno)) return true;
  }
  return false;
}

/**
 * Runs `attempt`, and again while it loses races, `retries` times at most, with growing pauses.
 *
 * @param random spreads the pauses of competitors; 0 to 1
 */
export async function withRetries<T>(
  retries: number,
  attempt: () => Promise<T>,
  random = Math.random,
): Promise<T> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tried >= retries || !lostRace(error)) throw error;
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** tried, LONGEST_PAUSE_MS) * (0.5 + random()));
    }
  }
}
