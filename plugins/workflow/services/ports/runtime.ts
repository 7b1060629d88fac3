import type { RunPlace } from '../../contract/engine.ts';

/** Timers of the process; a simulation has its own. The runner sets no other timers and reads no other clock. */
export interface Timers {
  /** Calls once after `ms`; returns a function that cancels it. Does not keep the process alive. */
  after(ms: number, call: () => void): () => void;
  /** Milliseconds of a clock that never runs backwards. */
  monotonic(): number;
}

/** Notifies replicas that there is something to do. Any message may be lost, duplicated or late. */
export interface Notifier {
  /** Some replica, this one included, should poll the run, `delayMs` from now. Never throws, never waits. */
  poll(place: RunPlace, delayMs?: number): void;
  /** The replica that owns the run should read it: another one has changed it. */
  changed(place: RunPlace): void;
}
