import type { RunStore } from '../ports/run-store.ts';
import type { Timers } from '../ports/timers.ts';

/**
 * What the database's clock shows, without asking it each time: a distance to the clock of this process that never runs backwards, so that a wall
 * clock that is set here changes nothing. An answer of the database says that its clock was, when it arrived, somewhere between the answer and the answer
 * plus the time of the round trip; the estimate moves only as far as it has to, so that a slow answer spoils nothing.
 */
export class DatabaseClock {
  readonly #store: Pick<RunStore, 'now'>;
  readonly #timers: Pick<Timers, 'monotonic'>;
  /** Database time less monotonic time. */
  #distance: number | undefined;

  constructor(store: Pick<RunStore, 'now'>, timers: Pick<Timers, 'monotonic'>) {
    this.#store = store;
    this.#timers = timers;
  }

  /** Whole milliseconds since the epoch. Throws before the first answer. */
  now(): number {
    if (this.#distance === undefined) throw new Error('The clock of the database was never asked');
    return Math.floor(this.#distance + this.#timers.monotonic());
  }

  /** Asks the database. Rejects when it does not answer; the estimate goes on then. */
  async renew(): Promise<void> {
    const asked = this.#timers.monotonic();
    const answer = await this.#store.now();
    const least = answer - this.#timers.monotonic();
    const most = answer - asked;
    const distance = this.#distance ?? (least + most) / 2;
    this.#distance = Math.min(Math.max(distance, least), most);
  }
}
