import type { BackoffBounds } from '../../base/backoff.ts';

/** Bounds of events; times in milliseconds. */
export interface EventLimits {
  /** Messages that wait to be sent; above it the oldest is dropped. Default 1 000, which is 7 MB at most. */
  readonly outgoing: number;
  /** Events that wait for one listener; above it the oldest is dropped. Default 1 000. */
  readonly backlog: number;
  /** How long a listener may take before the next event is given to it all the same; default 60 000. */
  readonly listenerDeadline: number;
  /** Least time between two calls of `onMissed` listeners; default 1 000. */
  readonly missedEvery: number;
  /** Messages that are sent at one time; default 100. */
  readonly batch: number;
  /** How long a new connection may take; default 10 000. */
  readonly openDeadline: number;
  /** How long the server may take to answer before the connection counts as dead; default 5 000. */
  readonly answerDeadline: number;
  /** How often the server is asked whether it is still there; default 5 000. */
  readonly pingEvery: number;
  /** Delays between attempts to connect; default 100 to 5 000. */
  readonly backoff: BackoffBounds;
  /** How long `close` may take to send what is buffered; default 2 000. */
  readonly closeDeadline: number;
}

/** The bounds that hold where nothing else is said: a connection that died in silence is noticed within 10 seconds. */
export const DEFAULT_LIMITS: EventLimits = {
  outgoing: 1_000,
  backlog: 1_000,
  listenerDeadline: 60_000,
  missedEvery: 1_000,
  batch: 100,
  openDeadline: 10_000,
  answerDeadline: 5_000,
  pingEvery: 5_000,
  backoff: { first: 100, most: 5_000 },
  closeDeadline: 2_000,
};
