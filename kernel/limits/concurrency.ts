/** Counts what is open at one time, per key, in this process. */
export interface Concurrency {
  /**
   * Takes a place and returns the function that gives it back (calling it again does nothing), or `undefined` when
   * `max` places of the key are taken. A `max` of 0 is no limit.
   */
  acquire(key: string, max: number): (() => void) | undefined;
  /** How many places of the key are taken. */
  inUse(key: string): number;
}

/** Concurrent counters, for `SVC_MAX_STREAMS_PER_USER` (decisions 1.6). Holds only keys that have something open. */
export function createConcurrency(): Concurrency {
  const open = new Map<string, number>();
  return {
    acquire(key, max) {
      const taken = open.get(key) ?? 0;
      if (max > 0 && taken >= max) return undefined;
      open.set(key, taken + 1);
      let isHeld = true;
      return function release() {
        if (!isHeld) return;
        isHeld = false;
        const left = (open.get(key) as number) - 1;
        if (left === 0) open.delete(key);
        else open.set(key, left);
      };
    },
    inUse: (key) => open.get(key) ?? 0,
  };
}
