/** Timers of the process; a simulation has its own. Nobody else sets timers or reads clocks in the runner. */
export interface Timers {
  /** Calls once after `ms`; returns what prevents it. Does not keep the process alive. */
  after(ms: number, call: () => void): () => void;
  /** Milliseconds of a clock that never runs backwards. */
  monotonic(): number;
}
