import { type Clock, DeadlineError, startLifetime as startSignal } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';

/** The deadlines of a model call, in milliseconds. Each one that passes is a `model.timeout` with its own sentence. */
export interface Timeouts {
  /** To open a connection, TLS included. Default 10,000. A connection that fails is tried again. */
  readonly connectMs: number;
  /**
   * From sending a streaming request to the head of the response. Default 120,000. Plain answers have no such limit:
   * a provider sends their head only when the whole answer is ready, so that `totalMs` alone bounds them.
   */
  readonly firstByteMs: number;
  /**
   * Silence inside a response body while the gateway is reading it. Default 120,000: reasoning models send the head
   * at once and then think for a while. The time in which a slow client keeps the gateway from reading does not count.
   */
  readonly idleMs: number;
  /** The whole call: waiting, retries, and the last byte. Default 600,000. */
  readonly totalMs: number;
}

/** What applies where a deployment sets nothing. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 120_000,
  idleMs: 120_000,
  totalMs: 600_000,
};

/** `1500` → `1.5 s`: durations as error texts show them. */
export function inSeconds(milliseconds: number): string {
  return `${milliseconds / 1000} s`;
}

/**
 * A failure of a call as circuit breakers have to see it. Where a deadline of the caller's own has ended the call, its
 * provider was late: of other callers that give up nothing is known but that they left.
 */
export function shownBy(error: unknown, { reason }: AbortSignal): unknown {
  return reason instanceof DeadlineError ? ModelErrors.timeout(undefined, { cause: reason }) : error;
}

/** How long one model call, retries included, may live. */
export interface Lifetime extends Disposable {
  /** Aborted when the caller hangs up or the time is over; its `reason` is the `GatewayError` to throw. */
  readonly signal: AbortSignal;
  /** Milliseconds until the deadline. */
  remaining(): number;
}

/**
 * Joins the caller's signal and a total deadline into one signal whose reason is already the right error. Dispose it
 * when the call is over: it holds a timer and a listener on the caller's signal.
 */
export function startLifetime(caller: AbortSignal, totalMs: number, clock: Clock): Lifetime {
  const deadline = clock.monotonic() + totalMs;
  const late = () => ModelErrors.timeout(`The model call took longer than ${inSeconds(totalMs)}.`);
  const life = startSignal([caller, () => ModelErrors.aborted()], totalMs, late);
  return {
    signal: life.signal,
    remaining: () => deadline - clock.monotonic(),
    [Symbol.dispose]: life.end,
  };
}
