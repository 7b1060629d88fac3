import { type Clock, systemClock } from '../base/clock.ts';
import { LONGEST_DELAY_MS } from '../base/deadline.ts';
import { throttledLog } from '../base/throttle.ts';
import type { Logger } from '../observability/logger.ts';

/** A task that runs again and again. */
export interface PeriodicTask {
  readonly name: string;
  readonly milliseconds: number;
  readonly task: (signal: AbortSignal) => Promise<void>;
  /** The first run comes at once, not after one period. */
  readonly immediately: boolean;
}

/** A task that runs. */
export interface RunningTask {
  /** No further run begins; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/**
 * Runs a task every so often, the first time at once or after one period. A run that takes longer than the period
 * delays the next one, so two never overlap. A failure, also one that is thrown before there is a promise, is logged,
 * the same again once in a minute at most, and the task goes on. The first success after a failure that was logged is
 * logged, too.
 */
export function runPeriodically(
  task: PeriodicTask,
  signal: AbortSignal,
  log: Logger,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): RunningTask {
  let running: Promise<void> | undefined;
  const outcome = logTask('periodic', task.name, log, clock);
  const runOnce = async () => {
    try {
      await task.task(signal);
      outcome.succeeded();
    } catch (err) {
      outcome.failed(err);
    }
  };
  const run = () => {
    running ??= runOnce().finally(() => {
      running = undefined;
    });
  };
  // A longer period than a timer can have, of a month for example, has several.
  const parts = Math.ceil(task.milliseconds / LONGEST_DELAY_MS);
  let passed = 0;
  const timer = setInterval(() => {
    passed = (passed + 1) % parts;
    if (passed === 0) run();
  }, task.milliseconds / parts);
  timer.unref();
  if (task.immediately) run();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * Logs how the runs of a task end: a failure, the same again once in a minute at most, and the first success after a
 * failure that was logged.
 */
export function logTask(
  kind: 'periodic' | 'scheduled',
  task: string,
  log: Pick<Logger, 'error' | 'info'>,
  clock: Pick<Clock, 'monotonic'>,
) {
  let isFailureLogged = false;
  const failures = () =>
    throttledLog(clock, (err: unknown, times) => {
      isFailureLogged = true;
      log.error({ err, task, times }, `a ${kind} task failed`);
    });
  let logFailure = failures();
  let lastFailure: string | undefined;
  return {
    failed(err: unknown): void {
      if (String(err) !== lastFailure) logFailure = failures();
      lastFailure = String(err);
      logFailure(err);
    },
    succeeded(): void {
      if (isFailureLogged) log.info({ task }, `a ${kind} task works again`);
      isFailureLogged = false;
    },
  };
}
