import type { Clock } from 'agent-gateway';
import type { Timers } from '../ports/timers.ts';

/** The longest time of one timer of Node; a longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The timers of this process. */
export function processTimers(clock: Pick<Clock, 'monotonic'>): Timers {
  return {
    after(ms, call) {
      const timer = setTimeout(call, Math.min(Math.max(ms, 0), LONGEST_MS)).unref();
      return () => clearTimeout(timer);
    },
    monotonic: () => clock.monotonic(),
  };
}
