import { type Clock, type Release, Semaphore } from 'agent-gateway';

/** Milliseconds that a caller waits for a place, and the callers that may wait for the places of one key. */
const LINE_MS = 1_000;
const MOST_IN_LINE = 50;
/** Milliseconds after which a caller has to come again: the maximum, and the unit to which they are rounded up, since each distinct moment costs a query. */
const MOST_WAIT_MS = 600_000;
const STEP_MS = 500;
/** Assumed milliseconds for which a place is used, until the first use has ended. */
const UNKNOWN_MS = 10;

interface Line {
  readonly turns: Semaphore;
  /** Callers that have a place or wait in line. */
  users: number;
  /** When the next caller may come again, and when the latest got its place; monotonic. */
  nextAt: number;
  cameAt: number;
  /** Milliseconds for which the latest caller kept its place. */
  stayed: number;
}

/** A place, or the milliseconds after which to come again. */
export type Place = { readonly leave: Release } | { readonly waitMs: number };

/**
 * A number of places for each key, in this process: a slow receiver takes no more than these, however many deliveries wait for it. A few callers wait for a
 * moment in line; all others are given a time to come again, one after the other, at the pace at which places become free, so that they do not come all at once.
 */
export function createPlaces(most: number, clock: Pick<Clock, 'monotonic'>) {
  const lines = new Map<string, Line>();

  function lineOf(key: string): Line {
    const known = lines.get(key);
    if (known !== undefined) return known;
    const now = clock.monotonic();
    const turns = new Semaphore(most, { timeoutMs: LINE_MS });
    const line = { turns, users: 0, nextAt: now, cameAt: now, stayed: UNKNOWN_MS };
    lines.set(key, line);
    return line;
  }

  function later(line: Line): Place {
    const now = clock.monotonic();
    const inside = now - line.cameAt;
    // Where no caller got a place for so long, the current ones are slower than those before them.
    const pace = Math.max(line.stayed, inside > LINE_MS ? inside : 0) / most;
    line.nextAt = Math.max(line.nextAt, now) + pace;
    const at = Math.ceil(line.nextAt / STEP_MS) * STEP_MS;
    return { waitMs: Math.min(Math.ceil(at - now), MOST_WAIT_MS) };
  }

  function leave(key: string, line: Line): void {
    line.users -= 1;
    if (line.users === 0) lines.delete(key);
  }

  return async (key: string): Promise<Place> => {
    const line = lineOf(key);
    if (line.turns.waiting >= MOST_IN_LINE) return later(line);
    line.users += 1;
    const release = await line.turns.acquire().catch(() => undefined);
    if (release === undefined) {
      leave(key, line);
      return later(line);
    }
    const cameAt = clock.monotonic();
    line.cameAt = cameAt;
    return {
      leave() {
        line.stayed = clock.monotonic() - cameAt;
        release();
        leave(key, line);
      },
    };
  };
}
