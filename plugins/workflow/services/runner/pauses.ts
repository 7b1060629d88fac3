import type { Timers } from '../ports/runtime.ts';

/** Waiting that ends early when the runner closes. */
export class Pauses {
  readonly #timers: Pick<Timers, 'after'>;
  readonly #waiting = new Set<() => void>();

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
  }

  /** Resolves after so many milliseconds, or when all pauses end. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(end);
        cancel();
        resolve();
      };
      const cancel = this.#timers.after(ms, end);
      this.#waiting.add(end);
    });
  }

  endAll(): void {
    for (const end of [...this.#waiting]) end();
  }
}
