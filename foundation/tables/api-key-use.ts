import type { Clock } from '../base/clock.ts';
import { recentMap } from '../base/recent-map.ts';
import { throttledLog } from '../base/throttle.ts';
import type { Database } from '../data/database.ts';
import { ApiKey } from './api-key.ts';

/** A key's time is written once in this many milliseconds, by all replicas together (decisions 1.2). */
const INTERVAL_MS = 60_000;
/** Milliseconds for which notes are gathered into one statement. */
const GATHER_MS = 5000;
/** Notes that wait at most; a key above that is noted at its next use. */
const MAX_PENDING = 10_000;
/** Keys in one statement. */
const BATCH = 500;

/**
 * Notes when API keys were used, off the request path. It is a hint for people: a crash may lose the last few seconds.
 * `onError` is called for writes that failed on the timer, once a minute at most: they are tried every few seconds.
 */
export function createLastUsed({
  database,
  clock,
  onError,
}: {
  readonly database: Pick<Database, 'system'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}) {
  const notedAt = recentMap<number>(MAX_PENDING);
  const pending = new Set<string>();
  const report = throttledLog(clock, onError);
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let closed = false;

  function schedule(): void {
    if (timer !== undefined || closed) return;
    timer = setTimeout(() => {
      timer = undefined;
      flush().catch(report);
    }, GATHER_MS);
    timer.unref();
  }

  /** One after the other, so that `close` also waits for what the timer has begun. */
  function flush(): Promise<void> {
    const turn = writing.then(drain);
    writing = turn.catch(() => {}); // the caller of this flush gets the error
    return turn;
  }

  async function drain(): Promise<void> {
    while (pending.size > 0) {
      const batch = [...pending].slice(0, BATCH);
      for (const id of batch) pending.delete(id);
      try {
        await write(batch);
      } catch (error) {
        for (const id of batch) if (pending.size < MAX_PENDING) pending.add(id);
        schedule();
        throw error;
      }
    }
  }

  async function write(batch: readonly string[]): Promise<void> {
    const now = clock.now();
    // The condition keeps the promise of once a minute when several replicas serve one key.
    const isDue = { $or: [{ lastUsedAt: null }, { lastUsedAt: { $lte: new Date(now - INTERVAL_MS) } }] };
    await database
      .system()
      .nativeUpdate(ApiKey, { id: { $in: [...batch] }, ...isDue }, { lastUsedAt: new Date(now) });
  }

  return {
    /** Notes that a key was used now. Returns at once. */
    touch(keyId: string): void {
      const now = clock.monotonic();
      const last = notedAt.get(keyId);
      if ((last !== undefined && now - last < INTERVAL_MS) || pending.size >= MAX_PENDING) return;
      notedAt.set(keyId, now);
      pending.add(keyId);
      schedule();
    },
    /** Writes what was noted. Rejects when the database does; what was noted then stays for the next attempt. */
    flush,
    /** Writes what was noted and ends the timer. */
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await flush();
    },
  };
}
