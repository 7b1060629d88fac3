import type { Clock } from 'agent-gateway';

/** Milliseconds: the least and the most that one may have to wait before coming again. */
const LEAST_WAIT_MS = 100;
const MOST_WAIT_MS = 600_000;

interface Line {
  running: number;
  /** When the next one may come, on the monotonic clock. */
  nextAt: number;
  /** Milliseconds that the latest took. */
  took: number;
}

/** A place, or the milliseconds after which to come again. */
export type Place = { readonly leave: () => void } | { readonly waitMs: number };

/**
 * So many places for each key, in this process: what is slow takes no more, however much of it waits. Those that get none come again one after the other,
 * at the pace of those before them, so that a long line does not come back all at once.
 */
export function createPlaces(most: number, clock: Pick<Clock, 'monotonic'>) {
  const lines = new Map<string, Line>();

  return (key: string): Place => {
    const now = clock.monotonic();
    const line = lines.get(key) ?? { running: 0, nextAt: now, took: 0 };
    if (line.running >= most) {
      line.nextAt = Math.max(line.nextAt, now) + Math.max(line.took / most, LEAST_WAIT_MS);
      return { waitMs: Math.min(Math.ceil(line.nextAt - now), MOST_WAIT_MS) };
    }
    line.running += 1;
    lines.set(key, line);
    return {
      leave() {
        line.running -= 1;
        line.took = clock.monotonic() - now;
        if (line.running === 0) lines.delete(key);
      },
    };
  };
}
