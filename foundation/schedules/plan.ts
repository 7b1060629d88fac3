import { createRequire } from 'node:module';
import type { Cron } from 'croner';
import { messageOf } from '../base/failure.ts';
import { refuseMisspelled } from '../base/nearest-name.ts';

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

/**
 * Every so many milliseconds, counted from the begin of the last run. @throws TypeError for what is no time from 10 ms
 * to a year, and for options of `scope.every` that there are not.
 */
export function everyPlan(milliseconds: number, options: { readonly replicas?: string } = {}): Plan {
  refuseMisspelled('options of a task', options, ['immediately', 'replicas']);
  const { replicas = 'all' } = options;
  if (!['all', 'one'].includes(replicas))
    throw new TypeError(`A task runs on "all" replicas or on "one", not on "${replicas}"`);
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
 * At the times of a cron pattern of five fields. Where neither minute nor hour has a `*` or a step, a time that a clock
 * change leaves out is the moment after it, and one that comes twice counts once; else the pattern goes by the clock on
 * the wall.
 *
 * @param options those of `scope.cron`: a time zone of the IANA database, default UTC
 * @throws TypeError for another pattern or time zone, a pattern without any time (`0 0 30 2 *`), and a misspelled
 * option
 */
export function cronPlan(pattern: string, options: { readonly timezone?: string } = {}): Plan {
  refuseMisspelled('options of a task', options, ['timezone']);
  const { timezone = 'UTC' } = options;
  const cron = parsed(pattern, timezone);
  const after = (now: number) => cron.nextRun(new Date(now))?.getTime() ?? Number.MAX_SAFE_INTEGER;
  if (cron.nextRun() === null) throw new TypeError(`The cron pattern "${pattern}" has no time`);
  return { pace: MINUTE_MS, after, next: (_began, ended) => after(ended) };
}

function parsed(pattern: string, timezone: string): Cron {
  if (!isTimeZone(timezone)) throw new TypeError(`"${timezone}" is no time zone of the IANA database`);
  const { Cron } = loadCroner();
  try {
    // Else croner takes it for one moment, after which there is no time.
    if (pattern.includes(':')) throw new TypeError('it is a moment');
    const fields = pattern.trim().split(/\s+/).filter(Boolean).length;
    if (fields !== 5 && !pattern.startsWith('@'))
      throw new TypeError(`it has ${fields}; they are minute, hour, day, month, day of the week: 0 3 * * *`);
    // By default croner takes `30 2,14 * * *` for an interval, which is left out and comes twice with the clock.
    return new Cron(pattern, { timezone, mode: '5-part', paused: true, fixedTimeRule: 'no-wildcard' });
  } catch (cause) {
    throw new TypeError(
      `"${pattern}" in ${timezone} is no cron pattern of five fields: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const MINUTE_MS = 60_000;
const YEAR_MS = 366 * 24 * 3_600_000;
