import type { RunPlace } from '../../contract/engine.ts';

/** Timers of the process; a simulation has its own. Nobody else sets timers or reads clocks in the runner. */
export interface Timers {
  /** Calls once after `ms`; returns what prevents it. Does not keep the process alive. */
  after(ms: number, call: () => void): () => void;
  /** Milliseconds of a clock that never runs backwards. */
  monotonic(): number;
}

/** Tells replicas that there is something to do. Hints: any may be lost, come twice, or late. */
export interface Notifier {
  /** Some replica, this one included, should look at the run, `delayMs` from now. Never throws, never waits. */
  poll(place: RunPlace, delayMs?: number): void;
  /** The replica that owns the run should look at it: somebody else has changed it. */
  changed(place: RunPlace): void;
}
