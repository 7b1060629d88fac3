/** The longest delay of a timer of Node, about 24.8 days: it takes a longer one for a millisecond. */
export const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** Something did not end in its time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Waits for `work`, `milliseconds` at most. @throws DeadlineError naming `what`. */
export async function within<T>(milliseconds: number, what: string, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const overdue = () => reject(new DeadlineError(`${what} did not end within ${milliseconds / 1000} s`));
  // After a pause of this very process timers fire before the sockets are read: look there before giving up.
  const timer = setTimeout(() => setImmediate(overdue), Math.min(milliseconds, LONGEST_DELAY_MS));
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether `work` ended, in whatever way, within `milliseconds`. Never rejects. */
export async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), Math.min(milliseconds, LONGEST_DELAY_MS));
  const ended = () => resolve(true);
  work.then(ended, ended);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for `work`, but rejects with the signal's reason as soon as that is aborted; `work` is then left to itself. */
export async function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** How long one task may go on. */
export interface Lifetime extends Disposable {
  /** Aborts with the caller's reason, the error of the deadline, or what `abort` was given: the first counts. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Takes the deadline off; the caller's signal still counts. */
  stopTimer(): void;
  /** Lets go of timer and caller, as its disposal does. Calling again changes nothing. */
  end(): void;
}

/** Begins one: until the caller's signal aborts, or `milliseconds` are over, which is the error `overdue`. */
export function startLifetime(
  caller: AbortSignal | undefined,
  milliseconds: number,
  overdue: () => Error,
): Lifetime {
  const controller = new AbortController();
  const giveUp = () => controller.abort(caller?.reason);
  const timer = setTimeout(() => controller.abort(overdue()), Math.min(milliseconds, LONGEST_DELAY_MS));
  const stopTimer = () => clearTimeout(timer);
  const end = () => {
    stopTimer();
    caller?.removeEventListener('abort', giveUp);
  };
  if (caller?.aborted) giveUp();
  else caller?.addEventListener('abort', giveUp, { once: true });
  const abort = (reason: unknown) => controller.abort(reason);
  return { signal: controller.signal, abort, stopTimer, end, [Symbol.dispose]: end };
}
