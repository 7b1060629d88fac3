import type { Timers } from '../ports/timers.ts';

/** Waiting that ends early when nothing is waited for any more. */
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

/** Milliseconds to wait after the `failures`-th failure in a row: doubles from `first` to `most`. */
export function growing(failures: number, first: number, most: number): number {
  return Math.min(first * 2 ** Math.min(failures - 1, 30), most);
}
