import type { Clock } from '../../base/clock.ts';
import { DeadlineError } from '../../base/deadline.ts';
import type { Logger } from '../../observability/logger.ts';
import type { SendResult } from './hints.ts';

/** What a publisher waits for a server. */
const SEND_DEADLINE_MS = 950;
/** Messages of this replica that may be on their way. */
const MAX_SENDING = 1_000;

/** Sends one message. Never rejects; `away` when that fails or takes too long. */
export type Sending = (send: () => Promise<SendResult>) => Promise<SendResult>;

/**
 * Keeps publishers from waiting for a server, and what is under way from growing. A message counts as under way until the server has
 * answered or the connection is broken, not only until its publisher gives up.
 */
export function createSending(trouble: (reason: unknown) => void): Sending {
  let underWay = 0;
  return async (send) => {
    if (underWay >= MAX_SENDING) return 'full';
    underWay += 1;
    const work = send().finally(() => {
      underWay -= 1;
    });
    try {
      return await inTime(work);
    } catch (error) {
      trouble(error);
      return 'away';
    }
  };
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const overdue = () =>
      reject(new DeadlineError(`publishing did not end within ${SEND_DEADLINE_MS / 1_000} s`));
    // After a pause of this very process timers fire before the sockets are read: look there before giving up.
    const timer = setTimeout(() => setImmediate(overdue), SEND_DEADLINE_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

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

/** Logs when a carrier is away and back, once each. */
export interface Outage {
  /** True from `began` to `ended`. */
  readonly isOn: boolean;
  began(reason: unknown): void;
  ended(): void;
  /** A failure that is no outage, or none of all connections: logged once a minute, and not when an outage follows. */
  trouble(reason: unknown): void;
}

const TROUBLE_EVERY_MS = 60_000;
/** Connections do not break all at once; what fails this long before an outage is part of it. */
const OUTAGE_BEGINS_MS = 1_000;

/** @param carrier how the log names it: `Redis` */
export function createOutage(carrier: string, clock: Clock, log: Logger): Outage {
  let isOn = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  let last: unknown;
  let reporting: NodeJS.Timeout | undefined;

  function report(): void {
    reporting = undefined;
    loggedAt = clock.monotonic();
    log.warn({ err: last, count: unlogged }, `${carrier} failed in carrying messages`);
    unlogged = 0;
  }

  return {
    get isOn() {
      return isOn;
    },
    began(reason) {
      clearTimeout(reporting);
      reporting = undefined;
      if (isOn) return;
      isOn = true;
      log.warn({ err: reason }, `${carrier} is away: work waits for the sweepers until it is back`);
    },
    ended() {
      if (!isOn) return;
      isOn = false;
      log.info(`${carrier} is back: messages are delivered again`);
    },
    trouble(reason) {
      if (isOn) return;
      unlogged += 1;
      last = reason;
      if (reporting !== undefined || clock.monotonic() - loggedAt < TROUBLE_EVERY_MS) return;
      reporting = setTimeout(report, OUTAGE_BEGINS_MS);
      reporting.unref();
    },
  };
}
