import { type Clock, type Release, Semaphore } from 'agent-gateway';

/** Milliseconds that a caller waits for a place, and the callers that may wait for the places of one key. */
const LINE_MS = 1_000;
const MOST_IN_LINE = 50;
/**
 * Milliseconds after which a caller has to come again: the maximum, and the unit to which they are rounded up, since
 * each distinct moment costs a query.
 */
const MOST_WAIT_MS = 600_000;
const STEP_MS = 500;
/** Assumed milliseconds for which a place is used, until the first use has ended. */
const UNKNOWN_MS = 10;
/**
 * A key is slow whose place was used for longer than these milliseconds, or is in use for longer than a caller waits in
 * line: its further places are part of what all slow keys share, and the others have the rest.
 */
const SLOW_MS = 3_000;
/** Slow keys without callers that are remembered. */
const MOST_IDLE = 10_000;

interface Line {
  readonly turns: Semaphore;
  /** Callers that have a place or wait in line. */
  users: number;
  /** When the callers that have a place got it, the earliest first; monotonic. */
  readonly held: Set<{ readonly at: number }>;
  /** When the next caller may come again; monotonic. */
  nextAt: number;
  /** Milliseconds for which the latest caller kept its place. */
  stayed: number;
}

/** A place, or the milliseconds after which to come again. */
export type Place = { readonly leave: Release } | { readonly waitMs: number };

/**
 * A number of places for each key, in this process: a slow receiver takes no more than these, however many deliveries
 * wait for it, and all slow receivers together no more than `mostSlow`. A few callers wait for a moment in line, where
 * that is worth it; all others are given a time to come again, one after the other, at the pace at which places become
 * free, so that they do not come all at once.
 */
export function createPlaces(most: number, mostSlow: number, clock: Pick<Clock, 'monotonic'>) {
  const lines = new Map<string, Line>();
  const idle = new Set<string>();
  let slowBusy = 0;

  function lineOf(key: string): Line {
    idle.delete(key);
    const known = lines.get(key);
    if (known !== undefined) return known;
    const turns = new Semaphore(most, { timeoutMs: LINE_MS });
    const line = {
      turns,
      users: 0,
      held: new Set<{ readonly at: number }>(),
      nextAt: clock.monotonic(),
      stayed: UNKNOWN_MS,
    };
    lines.set(key, line);
    return line;
  }

  /**
   * Milliseconds for which a place of the line is used: those before, or the ones under way where they already take
   * longer.
   */
  const useOf = (line: Line) => Math.max(line.stayed, inUseFor(line));

  /** Milliseconds since the caller that has a place for longest got it; 0 where there is none. */
  function inUseFor({ held }: Line): number {
    const [earliest] = held;
    return earliest === undefined ? 0 : clock.monotonic() - earliest.at;
  }

  function later(line: Line): Place {
    const now = clock.monotonic();
    line.nextAt = Math.max(line.nextAt, now) + useOf(line) / most;
    const at = Math.ceil(line.nextAt / STEP_MS) * STEP_MS;
    return { waitMs: Math.min(Math.ceil(at - now), MOST_WAIT_MS) };
  }

  function leave(key: string, line: Line): void {
    line.users -= 1;
    forgetUnused(key, line);
  }

  /** A slow key is remembered, or the next use would take it for a fast one. */
  function forgetUnused(key: string, line: Line): void {
    if (line.users > 0) return;
    if (line.stayed <= SLOW_MS) {
      lines.delete(key);
      return;
    }
    idle.add(key);
    if (idle.size <= MOST_IDLE) return;
    const [longest] = idle;
    if (longest === undefined) return;
    idle.delete(longest);
    lines.delete(longest);
  }

  return async (key: string): Promise<Place> => {
    const line = lineOf(key);
    const isSlow = line.stayed > SLOW_MS || inUseFor(line) > LINE_MS;
    const isTaken = line.held.size >= most;
    // No place becomes free while it would stand in line, and callers in line keep others of the process waiting.
    if (
      (isSlow && slowBusy >= mostSlow) ||
      (isTaken && (useOf(line) > LINE_MS || line.turns.waiting >= MOST_IN_LINE))
    ) {
      const place = later(line);
      forgetUnused(key, line);
      return place;
    }
    line.users += 1;
    if (isSlow) slowBusy += 1;
    const release = await line.turns.acquire().catch(() => undefined);
    if (release === undefined) {
      if (isSlow) slowBusy -= 1;
      leave(key, line);
      return later(line);
    }
    const mine = { at: clock.monotonic() };
    line.held.add(mine);
    return {
      leave() {
        line.held.delete(mine);
        line.stayed = clock.monotonic() - mine.at;
        if (isSlow) slowBusy -= 1;
        release();
        leave(key, line);
      },
    };
  };
}
