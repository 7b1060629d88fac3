import type { Clock } from '../../base/clock.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Logger } from '../../observability/logger.ts';

export type Outage = ReturnType<typeof createOutage>;

/** Connections do not break all at once; what fails this long before an outage is part of it. */
const OUTAGE_BEGINS_MS = 1_000;

/** Logs when Redis is away and back, once each. */
export function createOutage(clock: Clock, log: Logger) {
  const failed = throttledLog<unknown>(clock, (err, count) =>
    log.warn({ err, count }, 'Redis failed in carrying messages'),
  );
  let isOn = false;
  /** Failures that may be the beginning of an outage, and the last of them. */
  let fresh = 0;
  let last: unknown;
  let reporting: NodeJS.Timeout | undefined;

  function report(): void {
    reporting = undefined;
    failed(last, fresh);
    fresh = 0;
  }

  return {
    began(reason: unknown): void {
      clearTimeout(reporting);
      reporting = undefined;
      fresh = 0;
      if (isOn) return;
      isOn = true;
      log.warn({ err: reason }, 'Redis is away: work waits for the sweepers until it is back');
    },
    ended(): void {
      if (!isOn) return;
      isOn = false;
      log.info('Redis is back: messages are delivered again');
    },
    /**
     * A failure that is no outage, or none of all connections: logged once a minute, and not when an outage follows.
     */
    trouble(reason: unknown): void {
      if (isOn) return;
      fresh += 1;
      last = reason;
      reporting ??= setTimeout(report, OUTAGE_BEGINS_MS).unref();
    },
  };
}
