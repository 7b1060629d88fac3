import type { Logger } from '../../observability/logger.ts';

/** What `MissedEvents` needs. */
export interface MissedEventsOptions {
  /** Least milliseconds between two calls. */
  readonly every: number;
  readonly log: Pick<Logger, 'error'>;
}

/** Reports that events may have been missed. A reason that comes soon after another is reported at the end of the pause. */
export class MissedEvents {
  readonly #every: number;
  readonly #log: Pick<Logger, 'error'>;
  readonly #listeners = new Set<{ readonly call: () => void }>();
  #pause: NodeJS.Timeout | undefined;
  #isDue = false;
  #isClosed = false;

  constructor({ every, log }: MissedEventsOptions) {
    this.#every = every;
    this.#log = log;
  }

  /** Adds a listener; returns the undo. The same function may be added twice. */
  on(listener: () => void): () => void {
    const entry = { call: listener };
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  /** Calls the listeners soon, never within this call. */
  report(): void {
    if (this.#isClosed) return;
    if (this.#pause !== undefined) {
      this.#isDue = true;
      return;
    }
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      if (!this.#isDue) return;
      this.#isDue = false;
      this.report();
    }, this.#every).unref();
    setImmediate(() => this.#call());
  }

  /** No listener is called any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    this.#listeners.clear();
  }

  #call(): void {
    for (const { call } of [...this.#listeners]) {
      try {
        call();
      } catch (err) {
        this.#log.error({ err }, 'a listener for missed events failed');
      }
    }
  }
}
