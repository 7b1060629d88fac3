import { setTimeout as sleep } from 'node:timers/promises';
import { Mutex } from '../../base/semaphore.ts';
import { DatabaseErrors } from '../errors.ts';

/** Turns at the one connection that there is. @param timeoutMs milliseconds that a user waits for its turn */
export function createTurn(timeoutMs: number): Mutex {
  const expired = () => DatabaseErrors.unavailable('Another transaction has held the database for too long');
  return new Mutex({ timeoutMs, expired });
}

/**
 * SQLite's own waiting blocks the whole process; there it is short, and the statement is tried again here instead, for
 * so many milliseconds. A statement that failed with "busy" has changed nothing. Inside a transaction it cannot happen:
 * those begin with the write lock.
 */
export async function whenFree<T>(run: () => T | Promise<T>, timeoutMs: number): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return await run();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await sleep(pause);
    }
  }
}

/** True where another process has the lock of an SQLite file. */
function isBusy(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY');
}
