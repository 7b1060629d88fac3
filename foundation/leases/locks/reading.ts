/**
 * The times of the delegation, in milliseconds. `beat` < `alone` < `settle` < `suspend`, with room for a slow answer
 * between each two.
 */
export interface DelegationTimes {
  /** Between two readings of a process. */
  readonly beat: number;
  /** For how long a reading without a suspension allows Redis to grant locks alone. */
  readonly alone: number;
  /** Age of a suspension from which no lock lies in Redis alone any more, so that the database may grant them alone. */
  readonly settle: number;
  /** How long a suspension lasts after the last process that needed it. */
  readonly suspend: number;
  /** Age of a suspension from which a process without Redis ends the delegation for good; others may begin it again. */
  readonly forget: number;
}

/** The defaults: without Redis, locks are granted again after 8 s; without the database, all are lost after 8 s. */
export const DELEGATION_TIMES: DelegationTimes = {
  beat: 1_500,
  alone: 4_000,
  settle: 8_000,
  suspend: 10_000,
  forget: 60_000,
};

/** What the row said once. */
export interface Reading {
  /** Our monotonic clock before the question and after the answer. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** The data of Redis to which locks are delegated; empty: none. */
  readonly dataset: string;
  /** Milliseconds for which the suspension still lasted, 0 for none, and for which it had lasted. */
  readonly suspendedFor: number;
  readonly suspendedSince: number;
}

/** What follows from the readings of a process. All times are of its monotonic clock. */
export class Knowledge {
  readonly #times: DelegationTimes;
  #last: Reading | undefined;
  #lastUnsuspended = Number.NEGATIVE_INFINITY;

  constructor(times: DelegationTimes) {
    this.#times = times;
  }

  learn(reading: Reading): void {
    this.#last = reading;
    if (reading.suspendedFor <= 0) this.#lastUnsuspended = reading.askedAt;
  }

  get dataset(): string | undefined {
    return this.#last?.dataset;
  }

  /** False when the last reading is too old to grant anything by it. */
  isFresh(now: number): boolean {
    return this.#last !== undefined && now < this.#last.askedAt + this.#times.alone;
  }

  /** True while Redis may grant locks alone. */
  isRedisAlone(now: number): boolean {
    return this.#last?.suspendedFor === 0 && this.isFresh(now);
  }

  /** The least time until which the suspension lasts. */
  suspendedUntil(): number {
    return this.#last === undefined ? Number.NEGATIVE_INFINITY : this.#last.askedAt + this.#last.suspendedFor;
  }

  /** True while the database may grant locks that are not in Redis: no lock lies in Redis alone now. */
  isDatabaseAlone(now: number): boolean {
    return now < this.suspendedUntil() && now >= this.#suspendedFrom(this.#times.settle);
  }

  /** Until when a lock in Redis alone is exclusive: from then on the database could grant it to others. */
  redisAloneUntil(): number {
    return this.#lastUnsuspended + this.#times.settle;
  }

  /** The time in which a lock in the database alone is exclusive: before and after it Redis could grant it to others. */
  databaseAlone(): { readonly from: number; readonly until: number } {
    // Until so far into the suspension another process may believe that Redis grants alone.
    return { from: this.#suspendedFrom(this.#times.alone), until: this.suspendedUntil() };
  }

  /** Until when a lock in this data of Redis counts at all: from then on other data could have taken its place. */
  datasetUntil(dataset: string): number {
    if (this.#last?.dataset !== dataset) return Number.NEGATIVE_INFINITY;
    return this.#last.askedAt + this.#times.settle;
  }

  /** When the suspension is so old; never where there is none. */
  #suspendedFrom(age: number): number {
    if (this.#last === undefined || this.#last.suspendedFor <= 0) return Number.POSITIVE_INFINITY;
    return this.#last.answeredAt - this.#last.suspendedSince + age;
  }
}
