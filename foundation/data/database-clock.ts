import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../base/clock.ts';

/** Milliseconds for which an answer of the database is good enough. */
const FRESH_MS = 5_000;

/**
 * What the database's clock shows, without waiting for it each time: a distance to the clock of this process that never
 * runs backwards, so that a wall clock that is set here changes nothing. An answer of the database says that its clock
 * was, when it arrived, somewhere between the answer and the answer plus the time of the round trip; the estimate moves
 * only as far as it has to, so that a slow answer spoils nothing.
 *
 * Who reads an estimate that is older than some seconds has it renewed behind it, for the next one.
 */
export class DatabaseClock implements Clock {
  readonly #ask: () => Promise<number>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The reader may be in a transaction, which the question is no part of. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  /** Database time less monotonic time. */
  #distance: number | undefined;
  #askedAt = 0;
  #isAsking = false;

  /** @param ask asks the database: milliseconds since the epoch */
  constructor(ask: () => Promise<number>, clock: Pick<Clock, 'monotonic'>) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Whole milliseconds since the epoch. Throws before the first `renew`. */
  now(): number {
    if (this.#distance === undefined) throw new Error('The clock of the database was never asked');
    const at = this.#clock.monotonic();
    // Without an answer the estimate goes on.
    if (!this.#isAsking && at - this.#askedAt >= FRESH_MS)
      this.#inOwnContext(() => this.renew().catch(() => {}));
    return Math.floor(this.#distance + at);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Asks the database. Rejects when it does not answer; the estimate goes on then. */
  async renew(): Promise<void> {
    this.#isAsking = true;
    try {
      const asked = this.#clock.monotonic();
      this.#askedAt = asked;
      const answer = await this.#ask();
      const least = answer - this.#clock.monotonic();
      const most = answer - asked;
      const distance = this.#distance ?? (least + most) / 2;
      this.#distance = Math.min(Math.max(distance, least), most);
    } finally {
      this.#isAsking = false;
    }
  }
}
