import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import { DeadlineError, within } from './deadline.ts';
import { defineErrors } from './gateway-error.ts';

/** How a cache of database records behaves. */
export interface FreshCacheOptions<T extends object> {
  /** Reads one record from the database; `undefined` when there is none. */
  readonly load: (key: string) => Promise<T | undefined>;
  readonly clock: Clock;
  /** Milliseconds for which a record is used, counted from the start of its load. */
  readonly maxAge: number;
  /** Records that are kept at most; as many answers of "there is none" are kept beside them. */
  readonly maxEntries: number;
  /** Loads that may run at one time; default 256. Above it a lookup fails at once. */
  readonly maxLoads?: number;
  /** Milliseconds after which a lookup fails; default 5000. */
  readonly deadline?: number;
}

/**
 * Records by key that are never used longer than `maxAge` after they were read, and not at all after a `forget` that
 * returned: a load that was under way then is neither kept nor shared with lookups that come later.
 */
export interface FreshCache<T extends object> {
  /**
   * The record, without a promise when it is at hand. Lookups of one key at one time share a load. Fails with
   * `lookup.unavailable` when the database does not answer in time or too many loads are running.
   */
  get(key: string): T | undefined | Promise<T | undefined>;
  /** Drops one record. */
  forget(key: string): void;
  /** Drops the records that match, and what is being loaded. */
  forgetWhere(matches: (record: T) => boolean): void;
  /** Drops everything. */
  clear(): void;
}

/** What can go wrong with a lookup. */
export const LookupErrors = defineErrors({
  unavailable: {
    code: 'lookup.unavailable',
    kind: 'unavailable',
    title: 'The database did not answer in time',
  },
});

interface Entry<T> {
  readonly record: T;
  readonly readAt: number;
}

interface Flight<T> {
  readonly startedAt: number;
  readonly result: Promise<T | undefined>;
}

/** Makes an empty cache. */
export function createFreshCache<T extends object>(options: FreshCacheOptions<T>): FreshCache<T> {
  const { load, clock, maxAge, maxEntries, maxLoads = 256, deadline = 5000 } = options;
  const present = new LRUCache<string, Entry<T>>({ max: maxEntries });
  // Apart from the records, so that a flood of made-up keys pushes out nobody's real one.
  const absent = new LRUCache<string, number>({ max: maxEntries });
  const flights = new Map<string, Flight<T>>();
  let running = 0;

  function join(key: string, now: number): Promise<T | undefined> {
    const current = flights.get(key);
    if (current !== undefined && now - current.startedAt < maxAge) return current.result;
    if (running >= maxLoads) return Promise.reject(unavailable(new Error(`${running} lookups are running`)));
    const flight = { startedAt: now, result: answer(key) };
    flights.set(key, flight);
    flight.result.then(
      (record) => {
        if (lands(key, flight)) keep(key, record, now);
      },
      () => lands(key, flight),
    );
    return flight.result;
  }

  async function answer(key: string): Promise<T | undefined> {
    try {
      return await within(deadline, 'a lookup', run(key));
    } catch (error) {
      throw error instanceof DeadlineError ? unavailable(error) : error;
    }
  }

  async function run(key: string): Promise<T | undefined> {
    running += 1;
    try {
      return await load(key);
    } finally {
      running -= 1;
    }
  }

  /** Takes the flight off; false when somebody forgot the key, or a newer load took its place, in the meantime. */
  function lands(key: string, flight: Flight<T>): boolean {
    return flights.get(key) === flight && flights.delete(key);
  }

  function keep(key: string, record: T | undefined, readAt: number): void {
    if (record === undefined) absent.set(key, readAt);
    else present.set(key, { record, readAt });
  }

  return {
    get(key) {
      const now = clock.monotonic();
      const entry = present.get(key);
      if (entry !== undefined && now - entry.readAt < maxAge) return entry.record;
      const missedAt = absent.get(key);
      if (missedAt !== undefined && now - missedAt < maxAge) return undefined;
      return join(key, now);
    },
    forget(key) {
      present.delete(key);
      absent.delete(key);
      flights.delete(key);
    },
    forgetWhere(matches) {
      for (const [key, entry] of present.entries()) if (matches(entry.record)) present.delete(key);
      // What is being loaded is not known yet, so all of it is left to those who wait for it already.
      flights.clear();
    },
    clear() {
      present.clear();
      absent.clear();
      flights.clear();
    },
  };
}

function unavailable(cause: Error): Error {
  return LookupErrors.unavailable(undefined, { headers: { 'retry-after': '1' }, cause });
}
