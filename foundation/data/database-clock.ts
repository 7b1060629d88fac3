import type { Clock } from '../base/clock.ts';
import type { Database } from './database.ts';

/**
 * What the database's clock shows, without asking it each time: a distance to the clock of this process that never runs backwards, so that a wall
 * clock that is set here changes nothing. An answer of the database says that its clock was, when it arrived, somewhere between the answer and the answer
 * plus the time of the round trip; the estimate moves only as far as it has to, so that a slow answer spoils nothing.
 */
export class DatabaseClock {
  readonly #database: { now(): Promise<number> };
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Database time less monotonic time. */
  #distance: number | undefined;

  /** @param database what is asked: milliseconds since the epoch */
  constructor(database: { now(): Promise<number> }, clock: Pick<Clock, 'monotonic'>) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Whether the database has answered once. */
  get isKnown(): boolean {
    return this.#distance !== undefined;
  }

  /** Whole milliseconds since the epoch. Throws before the first answer. */
  now(): number {
    if (this.#distance === undefined) throw new Error('The clock of the database was never asked');
    return Math.floor(this.#distance + this.#clock.monotonic());
  }

  /** Asks the database. Rejects when it does not answer; the estimate goes on then. */
  async renew(): Promise<void> {
    const asked = this.#clock.monotonic();
    const answer = await this.#database.now();
    const least = answer - this.#clock.monotonic();
    const most = answer - asked;
    const distance = this.#distance ?? (least + most) / 2;
    this.#distance = Math.min(Math.max(distance, least), most);
  }
}

/** A clock for what several processes store and compare. */
export interface SharedClock extends Clock {
  /** Asks the database. Rejects when it does not answer; the clock goes on then. To be called every half minute or so. */
  renew(): Promise<void>;
}

/**
 * The clock that all processes over a database have in common: its server's. Until that was asked, and over a file, whose processes are on one machine, it is
 * `clock`, this process's own.
 */
export function sharedClock(database: Pick<Database, 'family' | 'now'>, clock: Clock): SharedClock {
  const monotonic = () => clock.monotonic();
  if (database.family === 'sqlite') return { now: () => clock.now(), monotonic, renew: async () => {} };
  const there = new DatabaseClock(database, clock);
  return {
    now: () => (there.isKnown ? there.now() : clock.now()),
    monotonic,
    renew: () => there.renew(),
  };
}
