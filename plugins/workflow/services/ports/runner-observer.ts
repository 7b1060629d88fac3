/** How a delivery ended here. `aborted`: it was cancelled, lost, or given back; nothing of it counts. */
export type DeliveryResult = 'succeeded' | 'failed' | 'timed-out' | 'aborted';

/** What became of a write. `unknown`: the database did not answer, and it may be stored or not. */
export type CommitResult = 'stored' | 'conflict' | 'unknown';

/** What a sweep found although nobody told. `drifted`: a run that is owned here, and was changed behind the back. */
export type SweepFinding = 'due' | 'orphan' | 'drifted';

/** Hears what a runner does, for metrics. Methods are called on the way of every step: they return at once and never throw. */
export interface RunnerObserver {
  /** A delivery ended after so many milliseconds. */
  delivered(nodeType: string, result: DeliveryResult, ms: number): void;
  /** An attempt began again, because whoever had it was lost or stopped. */
  redelivered(nodeType: string): void;
  committed(result: CommitResult): void;
  /** A result came for a delivery that was over: somebody else has the step, or the run was cancelled. */
  late(): void;
  /** `1`: a call goes on although its signal was aborted; `-1`: such a call has ended. The sum is what leaks now. */
  abandoned(change: 1 | -1): void;
  found(what: SweepFinding, count: number): void;
  /** The lease of this worker ended while it was at work: everything in hand was given up. */
  expired(): void;
}

/** For whoever does not want to know. */
export const NO_OBSERVER: RunnerObserver = {
  delivered: () => {},
  redelivered: () => {},
  committed: () => {},
  late: () => {},
  abandoned: () => {},
  found: () => {},
  expired: () => {},
};
