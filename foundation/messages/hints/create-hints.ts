import type { Clock } from '../../base/clock.ts';
import { endsWithin } from '../../base/deadline.ts';
import type { Ids } from '../../base/ids.ts';
import { payloadProblem } from '../../base/json-schema.ts';
import { refuseMisspelled } from '../../base/nearest-name.ts';
import { assertOutsideTransaction } from '../../data/transaction-guard.ts';
import type { Logger } from '../../observability/logger.ts';
import type { PluginMetrics } from '../../observability/plugin-metrics.ts';
import { HandlerRuns } from '../handler-runs.ts';
import { readPayload } from '../payload.ts';
import {
  type DeliveryResult,
  type HintConsumer,
  HintErrors,
  type HintForm,
  type HintHandler,
  type HintOptions,
  type HintRef,
  type Hints,
  type SendOptions,
  type SendResult,
} from './hints.ts';

/** What brings messages from a publisher to a consumer. `createHints` makes hints of it. */
export interface Carrier {
  readonly form: HintForm;
  /** Takes one message over, within 1 s. Never rejects. */
  send(queueId: string, message: Message): Promise<SendResult>;
  /** Begins to hand the messages of a queue to `hands`. */
  receive(queueId: string, hands: Hands): Reception;
  /** Lets go of connections and timers, within 4 s. All receptions have ended. Never rejects. */
  close(): Promise<void>;
}

/** A message as it travels. */
export interface Message {
  readonly id: string;
  /** True when the publisher named it: only then can another of the same id exist. */
  readonly isNamed: boolean;
  /** The payload as JSON. */
  readonly text: string;
  /** Milliseconds until it is due. */
  readonly delay: number;
}

/** Where a carrier puts messages. */
export interface Hands {
  /** Messages that may be in hand at one time. */
  readonly concurrency: number;
  /** How many are. */
  readonly size: number;
  /** Takes one in hand. Never rejects; resolves when its place is free again. */
  start(id: string, text: unknown): Promise<void>;
}

/** A consumer's end of a carrier. */
export interface Reception {
  /** Nothing new from now on; what arrives nevertheless goes back. */
  stop(): void;
  /** Called when nothing is in hand any more; gives up what the reception had. Ends within 2 s, never rejects. */
  end(): Promise<void>;
}

interface HintsParts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: PluginMetrics;
}

/** Queues of one process. They are declared in code, so this is a bound against ids that are made up. */
const MAX_QUEUES = 1_000;
const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 1_000;
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 24 * 3_600_000;
/** What consumers get that were not stopped before the queue is closed. */
const CLOSE_DRAIN_MS = 5_000;
const CLOSE_CARRIER_MS = 4_000;

/** A queue over a carrier: checks, deadlines, drains and counts are the same for all of them. */
export function createHints(carrier: Carrier, { clock, ids, log, metrics }: HintsParts): Hints {
  const counted = createQueueMetrics(metrics);
  const known = new Set<string>();
  const consumers = new Set<HintConsumer>();
  let closing: Promise<void> | undefined;

  function know(queueId: string): void {
    if (!known.has(queueId) && known.size >= MAX_QUEUES) {
      throw HintErrors.tooManyQueues(`No more than ${MAX_QUEUES} queues may be used, ${queueId} is one more`);
    }
    known.add(queueId);
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...consumers].map((consumer) => consumer.stop(CLOSE_DRAIN_MS)));
    if (!(await endsWithin(CLOSE_CARRIER_MS, carrier.close()))) log.warn('the queue did not close in order');
  }

  return {
    form: carrier.form,
    delivers: true,

    async send(queue, payload, options = {}) {
      assertOutsideTransaction(`publishing to the queue ${queue.id}`);
      const message = encodeMessage(queue, payload, options, ids);
      know(queue.id);
      const result = closing === undefined ? await carrier.send(queue.id, message) : 'away';
      counted.published.inc({ queue: queue.id, result });
      return result === 'ok';
    },

    listen(queue, handle, options = {}) {
      if (closing !== undefined) throw HintErrors.closed();
      checkHintOptions(options);
      const { concurrency = DEFAULT_CONCURRENCY, timeout = DEFAULT_TIMEOUT_MS } = options;
      know(queue.id);
      const runs = new HandlerRuns(timeout, clock);
      const deliver = delivery(queue, handle, runs, log.child({ queue: queue.id }), counted);
      const reception = carrier.receive(queue.id, {
        concurrency,
        get size() {
          return runs.size;
        },
        start: deliver,
      });
      let ending: Promise<void> | undefined;
      const consumer: HintConsumer = {
        async stop(drain) {
          reception.stop();
          await runs.drain(drain);
          ending ??= reception.end();
          await ending;
          consumers.delete(consumer);
        },
      };
      consumers.add(consumer);
      return consumer;
    },

    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** Hands one message to the handler; see `Hands.start`. */
function delivery<T>(
  queue: HintRef<T>,
  handle: HintHandler<T>,
  runs: HandlerRuns,
  log: Logger,
  counted: QueueMetrics,
) {
  const count = (result: DeliveryResult) => counted.deliveries.inc({ queue: queue.id, result });

  return async (id: string, text: unknown): Promise<void> => {
    const read = readPayload<T>(queue.schema, text);
    if ('problem' in read) {
      count('invalid');
      const err = HintErrors.payloadInvalid(`${queue.id}: ${read.problem}`);
      log.warn({ err, message_id: id }, 'a message that does not fit its queue was dropped');
      return;
    }
    const messageLog = log.child({ message_id: id });
    await runs.run(
      (signal) => handle(read.payload, { id, signal, log: messageLog }),
      ({ result, failure, hasEnded, seconds }) => {
        count(result as DeliveryResult);
        counted.seconds.observe({ queue: queue.id }, seconds);
        if (!hasEnded) messageLog.error('a queue handler goes on after its signal was aborted');
        else if (result === 'failed') messageLog.error({ err: failure }, 'a queue handler failed');
        else if (result !== 'ok') messageLog.warn({ err: failure, result }, 'a queue handler was aborted');
      },
    );
  };
}

/** Bytes of a payload as JSON in UTF-8. A hint holds ids; the rest is in the database. */
const MAX_PAYLOAD_BYTES = 16 * 1024;
const MAX_DELAY_MS = 24 * 3_600_000;
const MESSAGE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Checks a message and writes it down. The checks name the bad member, never its value. */
function encodeMessage<T>(queue: HintRef<T>, payload: T, { id, delay = 0 }: SendOptions, ids: Ids): Message {
  if (id !== undefined && !MESSAGE_ID.test(id)) {
    throw HintErrors.idInvalid(
      `id: a message of ${queue.id} is named by letters, digits, ".", "_" and "-", 128 at most`,
    );
  }
  if (!Number.isInteger(delay) || delay < 0 || delay > MAX_DELAY_MS) {
    throw HintErrors.optionInvalid(`delay: must be a whole number of milliseconds from 0 to ${MAX_DELAY_MS}`);
  }
  const problem = payloadProblem(queue.schema, payload);
  if (problem !== undefined) throw HintErrors.payloadInvalid(`${queue.id}: ${problem}`);
  const text = JSON.stringify(payload);
  if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) {
    throw HintErrors.payloadTooLarge(
      `${queue.id}: the payload is above ${MAX_PAYLOAD_BYTES} bytes; send an id`,
    );
  }
  return { id: id ?? ids.uuid(), isNamed: id !== undefined, text, delay };
}

/** Checks what a consumer asks for. @throws queue.option-invalid */
export function checkHintOptions(options: HintOptions = {}): void {
  const { concurrency, timeout } = options;
  refuseMisspelled('options of a hint', options, ['concurrency', 'timeout']);
  inBounds('concurrency', concurrency ?? DEFAULT_CONCURRENCY, MAX_CONCURRENCY);
  inBounds('timeout', timeout ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
}

function inBounds(option: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw HintErrors.optionInvalid(`${option}: must be a whole number from 1 to ${most}`);
}

type QueueMetrics = ReturnType<typeof createQueueMetrics>;

/** Names of queues come from declared refs, so they are few. */
function createQueueMetrics(metrics: PluginMetrics) {
  return {
    published: metrics.counter({
      name: 'svc_queue_published_total',
      help: 'Messages that were published, by what became of them: ok, full, away.',
      labels: ['queue', 'result'],
    }),
    deliveries: metrics.counter({
      name: 'svc_queue_deliveries_total',
      help: 'Messages that were delivered here, by their end: ok, failed, timeout, stopped, invalid.',
      labels: ['queue', 'result'],
    }),
    seconds: metrics.histogram({
      name: 'svc_queue_delivery_seconds',
      help: 'How long handlers worked on a message.',
      labels: ['queue'],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    }),
  };
}
