import type { Clock } from '../../base/clock.ts';

/** Messages of one queue that may wait outside of this process. */
export const MAX_WAITING = 10_000;
const COUNT_EVERY_MS = 1_000;
/** Messages that may be sent without counting again. */
const UNCOUNTED = 1_000;

/**
 * Whether a queue that several replicas fill has room. Counting at each message would cost more than the message, so the
 * count is at most a second old, or a thousand messages of this replica: with `n` replicas a queue may come to hold
 * `n` thousand messages more than its bound.
 */
export class Room {
  readonly #clock: Clock;
  readonly #count: () => Promise<number>;
  #counted = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  #sent = 0;
  #counting: Promise<void> | undefined;

  /** @param count the messages of the queue that wait, delayed ones included; may answer less exactly above the bound */
  constructor(clock: Clock, count: () => Promise<number>) {
    this.#clock = clock;
    this.#count = count;
  }

  /** Rejects when counting fails. */
  async has(): Promise<boolean> {
    const isOld = this.#clock.monotonic() - this.#countedAt >= COUNT_EVERY_MS;
    if (isOld || this.#sent >= UNCOUNTED) {
      this.#counting ??= this.#recount().finally(() => {
        this.#counting = undefined;
      });
      await this.#counting;
    }
    return this.#counted + this.#sent < MAX_WAITING;
  }

  /** One more was sent. */
  sent(): void {
    this.#sent += 1;
  }

  async #recount(): Promise<void> {
    const before = this.#sent;
    this.#counted = await this.#count();
    this.#sent -= before;
    this.#countedAt = this.#clock.monotonic();
  }
}
