import { DatabaseErrors } from '../errors.ts';

interface Waiter {
  readonly admit: () => void;
}

/** Lets one in at a time, in the order of arrival; nobody waits longer than `timeoutMs`. */
export class Turnstile {
  readonly #timeoutMs: number;
  #taken = false;
  readonly #waiting = new Set<Waiter>();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Resolves when it is the caller's turn; rejects with `database.unavailable` when that takes too long. */
  enter(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        reject(DatabaseErrors.unavailable('Another transaction has held the database for too long'));
      }, this.#timeoutMs);
      const waiter: Waiter = {
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.add(waiter);
    });
  }

  /** Ends the caller's turn. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken = false;
      return;
    }
    this.#waiting.delete(next);
    next.admit();
  }
}
