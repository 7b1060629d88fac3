import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../observability/logger.ts';

/** Tells the log when a carrier is away and back, once each. */
export interface Outage {
  /** True from `began` to `ended`. */
  readonly isOn: boolean;
  began(reason: unknown): void;
  ended(): void;
  /** A failure that is no outage, or none of all connections: told once a minute, and not when an outage follows. */
  trouble(reason: unknown): void;
}

const TROUBLE_EVERY_MS = 60_000;
/** Connections do not break all at once; what fails this long before an outage is part of it. */
const OUTAGE_BEGINS_MS = 1_000;

/** @param carrier how the log names it: `Redis` */
export function createOutage(carrier: string, clock: Clock, log: Logger): Outage {
  let isOn = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  let untold = 0;
  let last: unknown;
  let telling: NodeJS.Timeout | undefined;

  function tell(): void {
    telling = undefined;
    toldAt = clock.monotonic();
    log.warn({ err: last, count: untold }, `${carrier} failed in carrying messages`);
    untold = 0;
  }

  return {
    get isOn() {
      return isOn;
    },
    began(reason) {
      clearTimeout(telling);
      telling = undefined;
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
      untold += 1;
      last = reason;
      if (telling !== undefined || clock.monotonic() - toldAt < TROUBLE_EVERY_MS) return;
      telling = setTimeout(tell, OUTAGE_BEGINS_MS);
      telling.unref();
    },
  };
}
