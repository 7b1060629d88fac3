import { setTimeout as sleep } from 'node:timers/promises';
import { causesOf } from '../base/failure.ts';

/** PostgreSQL: serialization failure, deadlock. */
const SQL_STATES = new Set(['40001', '40P01']);
/** MySQL. */
const DEADLOCK = 1213;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;

/**
 * True when a transaction lost a race against another one and may win the next: it has changed nothing. One that waited
 * for a lock in vain has waited as long as is allowed, with a connection that others need.
 */
export function lostRace(error: unknown): boolean {
  return (
    deadlocked(error) ||
    causesOf(error).some((cause) => /^SQLITE_BUSY/.test(String((cause as NodeJS.ErrnoException).code)))
  );
}

/**
 * For `transaction`: one that lost a race (deadlock, serialization) has changed nothing and is run again from its
 * start, up to five times.
 */
export const RETRY_RACES = { retries: 5 } as const;

/** True for what loses a race at once. */
function deadlocked(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    const { code, errno } = cause as { code?: unknown; errno?: unknown };
    if (SQL_STATES.has(code as string) || errno === DEADLOCK) return true;
  }
  return false;
}

/**
 * Runs a statement that is a transaction of its own, and again where it was chosen to end a deadlock: it has changed
 * nothing, and nobody else could begin it again.
 */
export function runAlone<T>(statement: () => Promise<T>): Promise<T> {
  return withRetries(RETRY_RACES.retries, statement, Math.random, deadlocked);
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
  isLost = lostRace,
): Promise<T> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tried >= retries || !isLost(error)) throw error;
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** tried, LONGEST_PAUSE_MS) * (0.5 + random()));
    }
  }
}
