import type { Clock } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';
import { inSeconds } from './timeouts.ts';

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
  const end = new AbortController();
  const deadline = clock.monotonic() + totalMs;
  const onCallerAbort = () => end.abort(ModelErrors.aborted());
  const timer = setTimeout(() => {
    end.abort(ModelErrors.timeout(`The model call took longer than ${inSeconds(totalMs)}.`));
  }, totalMs);
  if (caller.aborted) onCallerAbort();
  else caller.addEventListener('abort', onCallerAbort, { once: true });
  return {
    signal: end.signal,
    remaining: () => deadline - clock.monotonic(),
    [Symbol.dispose]() {
      clearTimeout(timer);
      caller.removeEventListener('abort', onCallerAbort);
    },
  };
}
