import type { Timers } from '../../../../../plugins/workflow/services/ports/runtime.ts';

/** Timers that end when the test moves the time. */
export interface ManualTimers extends Timers {
  /** Moves the time and calls what ends meanwhile, in order. */
  advance(ms: number): void;
  /** Timers that wait. */
  readonly waiting: number;
}

/** Starts at 0. */
export function manualTimers(): ManualTimers {
  let now = 0;
  let order = 0;
  const timers = new Map<number, { readonly at: number; readonly call: () => void }>();
  return {
    after(ms, call) {
      const id = order++;
      timers.set(id, { at: now + ms, call });
      return () => timers.delete(id);
    },
    monotonic: () => now,
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const due = [...timers].filter(([, { at }]) => at <= end);
        due.sort(([idA, a], [idB, b]) => a.at - b.at || idA - idB);
        const [next] = due;
        if (next === undefined) break;
        const [id, { at, call }] = next;
        timers.delete(id);
        now = Math.max(now, at);
        call();
      }
      now = end;
    },
    get waiting() {
      return timers.size;
    },
  };
}
