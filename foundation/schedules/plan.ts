import { createRequire } from 'node:module';
import type { Cron } from 'croner';

/** Loaded with the first pattern: most gateways have none. */
const loadCroner = (): typeof import('croner') => createRequire(import.meta.url)('croner');

/** When a task is due, over all replicas. Times are milliseconds since the epoch. */
export interface Plan {
  /** Milliseconds between two runs, or more: how soon a replica looks again after what another one does. */
  readonly pace: number;
  /** The first time after `now`. */
  after(now: number): number;
  /** The time after a run from `began` to `ended`, later than `ended`: what came due meanwhile is left out. */
  next(began: number, ended: number): number;
}

/** Every so many milliseconds, counted from the begin of the last run. @throws TypeError for what is no time from 10 ms to a year. */
export function everyPlan(milliseconds: number): Plan {
  if (!(milliseconds >= 10 && milliseconds <= YEAR_MS)) {
    throw new TypeError(`A task is due every 10 ms to a year, not ${milliseconds} ms`);
  }
  return {
    pace: milliseconds,
    after: (now) => now + milliseconds,
    next: (began, ended) => began + milliseconds * (Math.floor((ended - began) / milliseconds) + 1),
  };
}

/**
 * At the times of a cron pattern of five fields. A time that a clock change leaves out is the moment after it; a fixed one that
 * comes twice counts once.
 *
 * @param timezone of the IANA database; default UTC
 * @throws TypeError for another pattern or time zone, and for a pattern without any time (`0 0 30 2 *`)
 */
export function cronPlan(pattern: string, timezone = 'UTC'): Plan {
  const cron = parsed(pattern, timezone);
  const after = (now: number) => cron.nextRun(new Date(now))?.getTime() ?? Number.MAX_SAFE_INTEGER;
  if (cron.nextRun() === null) throw new TypeError(`The cron pattern "${pattern}" has no time`);
  return { pace: MINUTE_MS, after, next: (_began, ended) => after(ended) };
}

function parsed(pattern: string, timezone: string): Cron {
  const { Cron } = loadCroner();
  try {
    return new Cron(pattern, { timezone, mode: '5-part', paused: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`"${pattern}" in ${timezone} is no cron pattern of five fields: ${reason}`, {
      cause,
    });
  }
}

const MINUTE_MS = 60_000;
const YEAR_MS = 366 * 24 * 3_600_000;
