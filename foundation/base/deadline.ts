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

/** A signal that others abort. */
export interface LinkedSignal extends Disposable {
  /** Aborts with the reason of the first of the others that does, or with what `abort` was given before. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Lets go of the others, as its disposal does. Calling again changes nothing. */
  end(): void;
}

/** What aborts another signal: with its reason, or with what becomes of that. */
export type SignalSource =
  | AbortSignal
  | undefined
  | readonly [source: AbortSignal, reasonOf: (reason: unknown) => unknown];

/**
 * A signal that is aborted with any of these, until it is let go of. Where that time is known it takes the place of
 * `AbortSignal.any`: Node watches the signals of that, and those of `AbortSignal.timeout`, with a
 * `FinalizationRegistry`, and what one watches outlives V8's collections of the young generation, with all that the
 * listeners refer to, here a whole turn of an agent.
 */
export function linkSignals(...sources: readonly SignalSource[]): LinkedSignal {
  const controller = new AbortController();
  const abort = (reason: unknown) => controller.abort(reason);
  const links: (() => void)[] = [];
  for (const source of sources) {
    if (source === undefined) continue;
    const [signal, reasonOf] = source instanceof AbortSignal ? [source, unchanged] : source;
    const follow = () => abort(reasonOf(signal.reason));
    if (signal.aborted) follow();
    else signal.addEventListener('abort', follow, { once: true });
    links.push(() => signal.removeEventListener('abort', follow));
  }
  const end = () => {
    for (const unlink of links.splice(0)) unlink();
  };
  return { signal: controller.signal, abort, end, [Symbol.dispose]: end };
}

const unchanged = (reason: unknown) => reason;

/** How long one task may go on: its signal aborts with the caller's, or with the error of the deadline. */
export interface Lifetime extends LinkedSignal {
  /** Takes the deadline off; the caller's signal still counts. */
  stopTimer(): void;
}

/** Begins one: until the caller's signal aborts, or `milliseconds` are over, which is the error `overdue`. */
export function startLifetime(caller: SignalSource, milliseconds: number, overdue: () => Error): Lifetime {
  const linked = linkSignals(caller);
  const { signal, abort } = linked;
  const timer = setTimeout(() => abort(overdue()), Math.min(milliseconds, LONGEST_DELAY_MS));
  const stopTimer = () => clearTimeout(timer);
  const end = () => {
    stopTimer();
    linked.end();
  };
  return { signal, abort, stopTimer, end, [Symbol.dispose]: end };
}
