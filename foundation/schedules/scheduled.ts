import { systemClock } from '../base/clock.ts';
import { throttledLog } from '../base/throttle.ts';
import { type Database, isUniqueViolation } from '../data/database.ts';
import type { Leases } from '../leases/leases.ts';
import type { Logger } from '../observability/logger.ts';
import { logTask, type RunningTask } from './periodic.ts';
import type { Plan } from './plan.ts';
import { ScheduleRow } from './schedule-table.ts';

/** A task that one replica runs whenever it is due. */
export interface ScheduledTask {
  /** Unique in the deployment: `<plugin>.<task>`. */
  readonly name: string;
  /** Names that it had before: where it never ran under its own, the time of such a one is its own. */
  readonly formerly?: readonly string[] | undefined;
  readonly plan: Plan;
  readonly task: (signal: AbortSignal) => Promise<void>;
  /** Where it never ran before it is due at once. */
  readonly immediately: boolean;
}

/** What scheduled tasks work with. */
export interface ScheduleParts {
  readonly database: Pick<Database, 'system' | 'now'>;
  readonly leases: Pick<Leases, 'tryAcquire'>;
  readonly log: Logger;
}

/** The longest wait between two looks: clocks are set, and the times of another version of the plugin are put right. */
const LONGEST_WAIT_MS = 60_000;
/** The longest wait for a run of another replica, or for a database that is away. */
const LONGEST_RETRY_MS = 5_000;
/** What is due, and could not be done, is looked at no sooner. */
const SHORTEST_WAIT_MS = 10;
/** After so long another replica does the run of a process that died. */
const TTL_MS = { shortest: 5_000, longest: 20_000 };

/**
 * Takes part in a task that one replica runs at a time, and once each time that it is due: the table says when, and a
 * strict lease which replica. A run that failed counts, and is logged, the same failure once in a minute at most. One
 * that did not end, since its process died, lost its lease or was stopped, is done again by the replica that has the
 * lease next. Of the times that were missed, with no process there or during a run, one is made up for, at most.
 */
export function runScheduled(
  { name, formerly = [], plan, task, immediately }: ScheduledTask,
  signal: AbortSignal,
  { database, leases, log }: ScheduleParts,
): RunningTask {
  const retry = Math.min(plan.pace, LONGEST_RETRY_MS);
  const ttl = Math.min(Math.max(plan.pace, TTL_MS.shortest), TTL_MS.longest);
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  const outcome = logTask('scheduled', name, log, systemClock);
  const notLookedUp = throttledLog(systemClock, (err: unknown, times) =>
    log.error({ err, task: name, times }, 'whether a scheduled task is due could not be looked up'),
  );

  const find = (known = name) =>
    database.system().findOne(ScheduleRow, { name: known }, { disableIdentityMap: true });

  /** When it was due under a former name. */
  async function inherited(): Promise<number | undefined> {
    for (const former of formerly) {
      const row = await find(former);
      if (row !== null) return row.nextAt;
    }
    return undefined;
  }

  /** A replica that moved it on meanwhile is right. */
  const move = (from: number, to: number) =>
    database.system().nativeUpdate(ScheduleRow, { name, nextAt: from }, { nextAt: to });

  async function begin(nextAt: number): Promise<void> {
    try {
      await database.system().insert(ScheduleRow, { name, nextAt });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
    }
  }

  /** Runs it if it is due. Milliseconds until the next look. */
  async function look(): Promise<number> {
    const now = await database.now();
    const first = plan.after(now);
    const row = await find();
    if (row === null) {
      const due = (await inherited()) ?? (immediately ? now : first);
      await begin(due);
      return due - now;
    }
    // A plan that changed, and a clock that was set back.
    if (row.nextAt > first) await move(row.nextAt, first);
    if (row.nextAt > now) return Math.min(row.nextAt, first) - now;
    const lease = await leases.tryAcquire(`schedule:${name}`, { strict: true, ttl });
    if (typeof lease === 'string') return retry;
    await using held = lease;
    // Another replica may have done it since.
    if ((await find())?.nextAt !== row.nextAt) return 0;
    if (isStopped || !(await run(AbortSignal.any([signal, held.signal])))) return retry;
    const ended = await database.now();
    const next = plan.next(now, ended);
    await move(row.nextAt, next);
    return next - ended;
  }

  /** False where it was aborted: it may have left something undone, whether it threw or not. */
  async function run(alive: AbortSignal): Promise<boolean> {
    try {
      await task(alive);
      if (alive.aborted) return false;
      outcome.succeeded();
      return true;
    } catch (err) {
      if (alive.aborted) return false;
      outcome.failed(err);
      return true;
    }
  }

  function wait(milliseconds: number): void {
    if (isStopped) return;
    const bounded = Math.min(Math.max(milliseconds, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
    timer = setTimeout(() => {
      looking = look()
        .catch((err: unknown) => {
          notLookedUp(err);
          return retry;
        })
        .then(wait);
    }, bounded).unref();
  }

  wait(0);
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
