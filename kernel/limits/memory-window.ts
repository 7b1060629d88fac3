import { RequestLog, WINDOW_MS } from './request-log.ts';

/**
 * The request logs of one kind of caller in this process, bounded: at most `2 * maxKeys` callers are remembered.
 *
 * Logs live in two generations. A generation turns over once a minute, or at once when it is full; a caller that is
 * heard of moves to the recent one, so what is dropped was silent for at least a minute, or, when more than `maxKeys`
 * different callers come within a minute, belongs to those heard of least recently. There is no timer and no write
 * per request besides the log itself.
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
