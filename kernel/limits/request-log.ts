/** The length of every rate window in milliseconds (decisions 1.13: requests a minute). */
export const WINDOW_MS = 60_000;

const FIRST_CAPACITY = 4;

/**
 * When one caller's requests of the last minute were admitted: an exact sliding window. Refused requests are not
 * entered, so its size never exceeds the limit, and 8 bytes of it exist for each request that was really served.
 */
export class RequestLog {
  // A ring whose capacity is a power of two, so that an index wraps with a mask.
  #times: number[] = new Array<number>(FIRST_CAPACITY).fill(0);
  #first = 0;
  #size = 0;

  /** How many requests were admitted in the minute that ends at `now` (monotonic milliseconds). */
  count(now: number): number {
    const expired = now - WINDOW_MS;
    const mask = this.#times.length - 1;
    while (this.#size > 0 && (this.#times[this.#first] as number) <= expired) {
      this.#first = (this.#first + 1) & mask;
      this.#size -= 1;
    }
    return this.#size;
  }

  /** Enters an admitted request. */
  add(now: number): void {
    if (this.#size === this.#times.length) this.#grow();
    this.#times[(this.#first + this.#size) & (this.#times.length - 1)] = now;
    this.#size += 1;
  }

  #grow(): void {
    const old = this.#times;
    const times = new Array<number>(old.length * 2).fill(0);
    for (let i = 0; i < this.#size; i += 1) times[i] = old[(this.#first + i) & (old.length - 1)] as number;
    this.#times = times;
    this.#first = 0;
  }
}
