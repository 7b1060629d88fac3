/** The length of every rate window in milliseconds (decisions 1.13: requests a minute). */
export const WINDOW_MS = 60_000;

const FIRST_CAPACITY = 4;

/**
 * When one caller's requests of the last minute were admitted: an exact sliding window. Refused requests are not
 * entered, so its size never exceeds the limit, and 8 bytes of it exist for each request that was really served.
 */
class RequestLog {
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

  /** Takes the newest one out again, which was not served after all; false where there is none. */
  removeNewest(now: number): boolean {
    if (this.count(now) === 0) return false;
    this.#size -= 1;
    return true;
  }

  #grow(): void {
    const old = this.#times;
    const times = new Array<number>(old.length * 2).fill(0);
    for (let i = 0; i < this.#size; i += 1) times[i] = old[(this.#first + i) & (old.length - 1)] as number;
    this.#times = times;
    this.#first = 0;
  }
}

/**
 * The request logs of one kind of caller in this process, bounded: at most `2 * maxKeys` callers are remembered.
 *
 * Logs live in two generations. A generation turns over once a minute, or at once when it is full; a caller that calls
 * again moves to the recent one, so what is dropped was silent for at least a minute, or, when more than `maxKeys`
 * different callers come within a minute, belongs to the callers that were silent longest. There is no timer and no
 * write per request besides the log itself.
 */
export class MemoryWindow {
  readonly #maxKeys: number;
  #recent = new Map<string, RequestLog>();
  #older = new Map<string, RequestLog>();
  #turnedAt = Number.NEGATIVE_INFINITY;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** The log of a caller, empty when nothing is remembered. `now` is monotonic milliseconds. */
  log(key: string, now: number): RequestLog {
    if (now - this.#turnedAt >= WINDOW_MS) this.#turn(now);
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    if (this.#recent.size >= this.#maxKeys) this.#turn(now);
    const log = this.#older.get(key) ?? new RequestLog();
    this.#recent.set(key, log);
    return log;
  }

  /** Takes the newest request of a caller out again; false where nothing is remembered. */
  removeNewest(key: string, now: number): boolean {
    return (this.#recent.get(key) ?? this.#older.get(key))?.removeNewest(now) ?? false;
  }

  /** How many callers are remembered. */
  get size(): number {
    let both = 0;
    for (const key of this.#older.keys()) if (this.#recent.has(key)) both += 1;
    return this.#recent.size + this.#older.size - both;
  }

  #turn(now: number): void {
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#turnedAt = now;
  }
}
