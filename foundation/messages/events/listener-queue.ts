import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/deadline.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Logger } from '../../observability/logger.ts';
import { type ReadPayload, readPayload } from '../payload.ts';
import type { EventMetrics } from './event-metrics.ts';
import type { EventLimits, EventListener, EventMeta, EventRef } from './events.ts';

/** What the queues of all listeners share. */
export interface QueueParts {
  readonly limits: EventLimits;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly clock: Clock;
  readonly metrics: EventMetrics;
}

/** An event on its way to the listeners. */
export interface Delivery {
  /** JSON of the payload. */
  readonly body: string;
  readonly origin: EventMeta['origin'];
  /** The schema that the payload is known to fit; `undefined` for one from another replica. */
  readonly fits: TSchema | undefined;
}

/** Deliveries after which other work of the process gets its turn. */
const PER_TURN = 64;

/**
 * Gives events to one listener: in order, one at a time, never within the call that emits.
 *
 * @param onOverflow the oldest delivery was dropped
 */
export function createListenerQueue(
  { id: event, schema }: EventRef<unknown>,
  listener: EventListener<unknown>,
  { limits, log, clock, metrics }: QueueParts,
  onOverflow: () => void,
) {
  const waiting: Delivery[] = [];
  let isRunning = false;
  const fellBehind = throttledLog(clock, (_, lost_events) =>
    log.warn({ event, lost_events }, 'a listener is slower than its events: the oldest are dropped'),
  );
  const unfit = throttledLog<string>(clock, (problem, lost_events) =>
    log.warn({ event, problem, lost_events }, 'an event from elsewhere does not fit its schema'),
  );
  const failed = throttledLog<unknown>(clock, (err, failures) =>
    log.error({ err, event, failures }, 'a listener to an event failed'),
  );

  async function run(): Promise<void> {
    for (let count = 1; ; count += 1) {
      const next = waiting.shift();
      if (next === undefined) break;
      await deliver(next);
      if (count % PER_TURN === 0) await nextTurn();
    }
    isRunning = false;
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const read = readDelivery(delivery);
    if ('problem' in read) {
      metrics.dropped('unfit', 1);
      return unfit(read.problem);
    }
    try {
      const outcome = listener(read.payload, { origin: delivery.origin });
      if (outcome !== undefined) await within(limits.listenerDeadline, `a listener to ${event}`, outcome);
    } catch (error) {
      failed(error);
    }
  }

  /** Parsed again for each listener, so that none can change what another one gets. */
  function readDelivery({ body, fits }: Delivery): ReadPayload<unknown> {
    // Two generations of a plugin may differ in their schema.
    return fits === schema ? { payload: JSON.parse(body) } : readPayload(schema, body);
  }

  return {
    push(delivery: Delivery): void {
      if (waiting.length >= limits.backlog) {
        waiting.shift();
        metrics.dropped('backlog', 1);
        fellBehind();
        onOverflow();
      }
      waiting.push(delivery);
      if (isRunning) return;
      isRunning = true;
      setImmediate(() => void run());
    },

    /** The listener is not called any more, not even for what waits. */
    end(): void {
      waiting.length = 0;
    },
  };
}
