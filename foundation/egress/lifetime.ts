import { EgressErrors } from './errors.ts';

/** How long one request, redirects included, may live. */
export interface Lifetime {
  /** Aborted when the caller hangs up (with his reason) or the time is over (with the error to throw). */
  readonly signal: AbortSignal;
  /** Waits for `work` no longer than the request lives; work that ends later is left to `abandoned`. */
  race<T>(work: Promise<T>, abandoned?: (late: T) => void): Promise<T>;
  /** Takes the deadline off; the caller's signal still counts. */
  stopTimer(): void;
  /** Lets go of timer and signal. Calling again changes nothing. */
  end(): void;
}

/** Starts it. */
export function startLifetime(caller: AbortSignal | undefined, timeout: number): Lifetime {
  const controller = new AbortController();
  const { signal } = controller;
  const hangUp = () => controller.abort(caller?.reason);
  const timer = setTimeout(() => {
    controller.abort(EgressErrors.timeout(`The request took longer than ${timeout / 1000} s.`));
  }, timeout);
  if (caller?.aborted) hangUp();
  else caller?.addEventListener('abort', hangUp, { once: true });

  return {
    signal,
    race<T>(work: Promise<T>, abandoned?: (late: T) => void): Promise<T> {
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(signal.reason);
        const settled = (settle: () => void) => {
          signal.removeEventListener('abort', giveUp);
          settle();
        };
        if (signal.aborted) giveUp();
        else signal.addEventListener('abort', giveUp, { once: true });
        work.then(
          (value) => settled(() => (signal.aborted ? abandoned?.(value) : resolve(value))),
          (error: unknown) => settled(() => reject(error)),
        );
      });
    },
    stopTimer: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', hangUp);
    },
  };
}
