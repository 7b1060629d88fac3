/** Something did not end in its time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Waits for `work`, `milliseconds` at most. @throws DeadlineError naming `what`. */
export async function within<T>(milliseconds: number, what: string, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const overdue = () => reject(new DeadlineError(`${what} did not end within ${milliseconds / 1000} s`));
  // After a pause of this very process timers fire before the sockets are read: look there before giving up.
  const timer = setTimeout(() => setImmediate(overdue), milliseconds);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
