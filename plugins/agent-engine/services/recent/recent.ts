import type { Clock } from 'agent-gateway';
import { LRUCache } from 'lru-cache';

/** How recent values are read and kept. */
export interface RecentOptions<T extends object> {
  readonly load: (key: string) => Promise<T>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds for which a value is used, counted from the start of its load. */
  readonly maxAge: number;
  /** Values that are kept. */
  readonly max: number;
  /** Characters that a value holds, roughly. */
  readonly weigh: (value: T) => number;
}

/** Characters that all values of one cache hold together: long ones leave room for fewer. */
const MAX_WEIGHT = 16 * 1024 * 1024;

/**
 * Values by key that are never older than `maxAge`, and never from before a `forget` that returned. Readers of one key share a load; a failed
 * load is not kept.
 */
export interface Recent<T extends object> {
  /** Without a promise when the value is at hand. */
  get(key: string): T | Promise<T>;
  forget(key: string): void;
  clear(): void;
}

/** Makes an empty cache. */
export function createRecent<T extends object>(options: RecentOptions<T>): Recent<T> {
  const { load, clock, maxAge, max, weigh } = options;
  const kept = new LRUCache<string, { readonly value: T; readonly readAt: number }>({
    max,
    maxSize: MAX_WEIGHT,
    sizeCalculation: ({ value }) => 1 + weigh(value),
  });
  const flights = new Map<string, { readonly startedAt: number; readonly value: Promise<T> }>();

  async function fly(key: string, startedAt: number): Promise<T> {
    const flight = { startedAt, value: load(key) };
    flights.set(key, flight);
    // A flight that was forgotten is not kept: somebody has changed what it read.
    const lands = () => flights.get(key) === flight && flights.delete(key);
    try {
      const value = await flight.value;
      if (lands()) kept.set(key, { value, readAt: startedAt });
      return value;
    } catch (error) {
      lands();
      throw error;
    }
  }

  return {
    get(key) {
      const now = clock.monotonic();
      const entry = kept.get(key);
      if (entry !== undefined && now - entry.readAt < maxAge) return entry.value;
      const flight = flights.get(key);
      if (flight !== undefined && now - flight.startedAt < maxAge) return flight.value;
      return fly(key, now);
    },
    forget(key) {
      kept.delete(key);
      flights.delete(key);
    },
    clear() {
      kept.clear();
      flights.clear();
    },
  };
}
