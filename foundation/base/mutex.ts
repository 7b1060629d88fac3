/** Lets one task run at a time, in order of arrival. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** Callers whose turn has not come. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when it is this caller's turn. The returned function ends the turn. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    this.#waiting += 1;
    await before;
    this.#waiting -= 1;
    return resolve;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    const leave = await this.enter();
    try {
      return await task();
    } finally {
      leave();
    }
  }
}
