import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { assertOutsideTransaction } from '../../data/transaction-guard.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Carrier } from './carrier.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { endsWithin } from './ends-within.ts';
import { encodeMessage } from './message.ts';
import {
  type ConsumeOptions,
  type Queue,
  type QueueConsumer,
  QueueErrors,
  type QueueObserver,
  type QueueRef,
} from './queue.ts';

export interface QueueParts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly observe: QueueObserver;
}

/** Queues of one process. They are declared in code, so this is a bound against ids that are made up. */
const MAX_QUEUES = 1_000;
const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 1_000;
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 24 * 3_600_000;
/** What consumers get that nobody stopped before the queue is closed. */
const CLOSE_DRAIN_MS = 5_000;
const CLOSE_CARRIER_MS = 4_000;

/** A queue over a carrier: checks, deliveries, drains and counts are the same for all of them. */
export function createQueue(carrier: Carrier, { clock, ids, log, observe }: QueueParts): Queue {
  const known = new Set<string>();
  const consumers = new Set<QueueConsumer>();
  let closing: Promise<void> | undefined;

  function know(queueId: string): void {
    if (!known.has(queueId) && known.size >= MAX_QUEUES) {
      throw QueueErrors.tooManyQueues(
        `No more than ${MAX_QUEUES} queues may be used, ${queueId} is one more`,
      );
    }
    known.add(queueId);
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...consumers].map((consumer) => consumer.stop(CLOSE_DRAIN_MS)));
    if (!(await endsWithin(CLOSE_CARRIER_MS, carrier.close()))) log.warn('the queue did not close in order');
  }

  return {
    form: carrier.form,
    delivers: carrier.delivers,

    async publish(queue, payload, options = {}) {
      assertOutsideTransaction(`publishing to the queue ${queue.id}`);
      const message = encodeMessage(queue, payload, options, ids);
      know(queue.id);
      const result = closing === undefined ? await carrier.send(queue.id, message) : 'away';
      observe.published(queue.id, result);
      return result === 'ok';
    },

    consume(queue, handle, options = {}) {
      if (closing !== undefined) throw QueueErrors.closed();
      checkConsumeOptions(options);
      const { concurrency = DEFAULT_CONCURRENCY, timeout = DEFAULT_TIMEOUT_MS } = options;
      know(queue.id);
      const deliveries = createDeliveries({ queue, handle, timeout, clock, log, observe });
      const consumer = startConsumer(carrier, queue, deliveries, concurrency, () =>
        consumers.delete(consumer),
      );
      consumers.add(consumer);
      return consumer;
    },

    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function startConsumer(
  carrier: Carrier,
  queue: QueueRef<unknown>,
  deliveries: Deliveries,
  concurrency: number,
  onStopped: () => void,
): QueueConsumer {
  const reception = carrier.receive(queue.id, {
    concurrency,
    get size() {
      return deliveries.size;
    },
    start: (id, text) => deliveries.start(id, text),
  });
  let ending: Promise<void> | undefined;
  return {
    async stop(drain) {
      reception.stop();
      await deliveries.drain(drain);
      ending ??= reception.end();
      await ending;
      onStopped();
    },
  };
}

/** Checks what a consumer asks for. @throws queue.option-invalid */
export function checkConsumeOptions({ concurrency, timeout }: ConsumeOptions = {}): void {
  inBounds('concurrency', concurrency ?? DEFAULT_CONCURRENCY, MAX_CONCURRENCY);
  inBounds('timeout', timeout ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
}

function inBounds(option: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw QueueErrors.optionInvalid(`${option}: must be a whole number from 1 to ${most}`);
}
