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
