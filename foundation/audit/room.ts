/** Lets callers wait for something to get room, each for a limited time. */
export class Room {
  readonly #deadline: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();

  /**
   * @param deadline milliseconds that a caller waits at most
   * @param maxWaiting callers that may wait at one time; one more is turned away at once
   */
  constructor(deadline: number, maxWaiting: number) {
    this.#deadline = deadline;
    this.#maxWaiting = maxWaiting;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves at the next `open`, rejects when that takes too long or too many wait. */
  wait(): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting) {
      return Promise.reject(
        new Error(`The audit journal is full and ${this.#maxWaiting} requests wait already`),
      );
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        clearTimeout(timer);
        this.#waiting.delete(admit);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(admit);
        reject(new Error(`The audit journal was still full after ${this.#deadline} ms`));
      }, this.#deadline);
      this.#waiting.add(admit);
    });
  }

  /** Admits everybody who waits. */
  open(): void {
    for (const admit of [...this.#waiting]) admit();
  }
}
