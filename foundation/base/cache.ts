import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import { DeadlineError, within } from './deadline.ts';
import { defineErrors } from './gateway-error.ts';
import { type RecentMap, recentMap } from './recent-map.ts';
import { TransientMap } from './transient.ts';

/** How a shared cache behaves. */
export interface SharedCacheOptions<T extends object | undefined> {
  /** Reads one value; `undefined` when there is none. A failure is not kept. */
  readonly load: (key: string) => Promise<T>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds for which a value is used, counted from the start of its load. */
  readonly maxAge: number;
  /**
   * Milliseconds after which a value that is asked for is read again in the background, while it goes on being used.
   * After a failure it stays, and is read again a second later at the earliest; where there is none any more it is
   * dropped. Default: never before `maxAge`.
   */
  readonly refreshAfter?: number;
  /** Values that are kept at most; as many answers of "there is none" are kept in addition. */
  readonly maxEntries: number;
  /** Characters that a value holds, roughly: all values together hold 16 Mi, so that long ones leave room for fewer. */
  readonly weigh?: (value: NonNullable<T>) => number;
  /** Loads that may run at one time; default 256. Above it a lookup fails at once. */
  readonly maxLoads?: number;
  /** Milliseconds after which a lookup fails; default 5000. */
  readonly deadline?: number;
}

/**
 * Values by key that are never used longer than `maxAge` after they were read, and not at all after a `forget` that
 * returned: a load that was under way then is neither kept nor shared with lookups that come later.
 */
export interface SharedCache<T extends object | undefined> {
  /**
   * The value, without a promise when it is at hand. Lookups of one key at one time share a load. Fails with
   * `lookup.unavailable` when the load does not end in time or too many loads are running.
   */
  get(key: string): T | Promise<T>;
  /** Drops one value. */
  forget(key: string): void;
  /** Drops the values that match, and what is being loaded. */
  forgetWhere(matches: (value: NonNullable<T>) => boolean): void;
  /** Drops everything. */
  clear(): void;
}

/** What can go wrong with a lookup. */
export const LookupErrors = defineErrors({
  unavailable: {
    code: 'lookup.unavailable',
    kind: 'unavailable',
    title: 'What this needs could not be looked up in time',
  },
});

const MAX_WEIGHT = 16 * 1024 * 1024;

interface Entry<T> {
  readonly value: T;
  readonly readAt: number;
  /** When it is due to be read again. */
  refreshAt: number;
}

/** Milliseconds between two tries to read a value again. */
const RETRY_MS = 1000;

interface Flight<T> {
  readonly startedAt: number;
  readonly result: Promise<T>;
}

/** Makes an empty cache. */
export function createSharedCache<T extends object | undefined>(
  options: SharedCacheOptions<T>,
): SharedCache<T> {
  const { load, clock, maxAge, maxEntries, weigh, maxLoads = 256, deadline = 5000 } = options;
  const { refreshAfter = maxAge } = options;
  // Made with their first entry: a cache takes memory for all entries that it may ever hold.
  let present: RecentMap<Entry<NonNullable<T>>> | undefined;
  // Apart from the values, so that a flood of made-up keys pushes out no real one.
  let absent: RecentMap<number> | undefined;
  const flights = new TransientMap<string, Flight<T>>();
  let running = 0;

  function join(key: string, now: number): Promise<T> {
    const current = flights.get(key);
    if (current !== undefined && now - current.startedAt < maxAge) return current.result;
    if (running >= maxLoads) return Promise.reject(unavailable(new Error(`${running} lookups are running`)));
    const flight: Flight<T> = { startedAt: now, result: fly() };
    flights.set(key, flight);
    // Whoever asked may wait for it no more.
    flight.result.catch(() => {});
    return flight.result;

    async function fly(): Promise<T> {
      try {
        const value = await answer(key);
        if (lands(key, flight)) keep(key, value, now);
        return value;
      } finally {
        lands(key, flight);
      }
    }
  }

  async function answer(key: string): Promise<T> {
    try {
      return await within(deadline, 'a lookup', run(key));
    } catch (error) {
      throw error instanceof DeadlineError ? unavailable(error) : error;
    }
  }

  async function run(key: string): Promise<T> {
    running += 1;
    try {
      return await load(key);
    } finally {
      running -= 1;
    }
  }

  /** Takes the flight off; false when the key was forgotten, or a newer load took its place, in the meantime. */
  function lands(key: string, flight: Flight<T>): boolean {
    return flights.get(key) === flight && flights.delete(key);
  }

  function keep(key: string, value: T, readAt: number): void {
    if (value === undefined) {
      present?.delete(key);
      absent ??= recentMap(maxEntries);
      absent.set(key, readAt);
      return;
    }
    present ??=
      weigh === undefined
        ? recentMap(maxEntries)
        : new LRUCache<string, Entry<NonNullable<T>>>({
            max: maxEntries,
            maxSize: MAX_WEIGHT,
            sizeCalculation: (entry) => 1 + weigh(entry.value),
          });
    present.set(key, { value: value as NonNullable<T>, readAt, refreshAt: readAt + refreshAfter });
  }

  return {
    get(key) {
      const now = clock.monotonic();
      const entry = present?.get(key);
      if (entry !== undefined && now - entry.readAt < maxAge) {
        if (now >= entry.refreshAt) {
          entry.refreshAt = now + RETRY_MS;
          // The lookup that finds the value too old reports the failure.
          join(key, now).catch(() => {});
        }
        return entry.value;
      }
      const missedAt = absent?.get(key);
      if (missedAt !== undefined && now - missedAt < maxAge) return undefined as T;
      return join(key, now);
    },
    forget(key) {
      present?.delete(key);
      absent?.delete(key);
      flights.delete(key);
    },
    forgetWhere(matches) {
      for (const [key, entry] of present?.entries() ?? []) if (matches(entry.value)) present?.delete(key);
      // What is being loaded is not known yet, so all of it is left to those who wait for it already.
      flights.clear();
    },
    clear() {
      present?.clear();
      absent?.clear();
      flights.clear();
    },
  };
}

function unavailable(cause: Error): Error {
  return LookupErrors.unavailable(undefined, { headers: { 'retry-after': '1' }, cause });
}
