/**
 * What can go wrong, and how often. Probabilities are per call, message or effect; intervals are mean milliseconds, 0:
 * never.
 */
export interface Faults {
  /** A write is refused by the database: nothing is stored, the caller sees an error. */
  readonly failedWrite: number;
  /** A write is stored, and the caller sees an error. */
  readonly ambiguousWrite: number;
  /** The caller sees an error, and the write reaches the database some time after that. */
  readonly lateWrite: number;
  readonly failedRead: number;
  /** A call takes up to several seconds. */
  readonly slowCall: number;
  /** The process vanishes at a write: before it is sent, on its way, or when it is stored and not answered. */
  readonly crashAtWrite: number;
  readonly crashEveryMs: number;
  readonly closeEveryMs: number;
  readonly stallEveryMs: number;
  readonly outageEveryMs: number;
  /** How wrong the clocks run: 0.05 is 5 % at most, either way. */
  readonly drift: number;
  readonly queue: 'alive' | 'dead';
  readonly lostMessage: number;
  readonly repeatedMessage: number;
  readonly slowMessage: number;
  /** How effects end, beside well. */
  readonly retryableFailure: number;
  readonly finalFailure: number;
  /** Never ends by itself. */
  readonly hangingEffect: number;
  /** When it is told to end, it goes on for a while, and then succeeds. */
  readonly stubbornEffect: number;
}

/** Nothing goes wrong. */
export const NO_FAULTS: Faults = {
  failedWrite: 0,
  ambiguousWrite: 0,
  lateWrite: 0,
  failedRead: 0,
  slowCall: 0,
  crashAtWrite: 0,
  crashEveryMs: 0,
  closeEveryMs: 0,
  stallEveryMs: 0,
  outageEveryMs: 0,
  drift: 0,
  queue: 'alive',
  lostMessage: 0,
  repeatedMessage: 0,
  slowMessage: 0,
  retryableFailure: 0,
  finalFailure: 0,
  hangingEffect: 0,
  stubbornEffect: 0,
};
