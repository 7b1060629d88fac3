import type { Clock } from '../foundation/base/clock.ts';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves both readings forward. */
  advance(milliseconds: number): void;
}

/** Starts at `now`, milliseconds since the epoch. */
export function manualClock(now = Date.UTC(2030, 0, 1)): ManualClock {
  let passed = 0;
  return {
    now: () => now + passed,
    monotonic: () => passed,
    advance: (milliseconds) => {
      passed += milliseconds;
    },
  };
}
