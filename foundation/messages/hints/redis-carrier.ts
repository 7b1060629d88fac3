import type * as BullMq from 'bullmq';
import type { Clock } from '../../base/clock.ts';
import { endsWithin, within } from '../../base/deadline.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Carrier, Message } from './create-hints.ts';
import type { SendResult } from './hints.ts';
import { connectPublisher, receiveFromRedis } from './redis-consumer.ts';
import { createOutage, type Outage } from './redis-outage.ts';
import { createRoom, createSending } from './sending.ts';

export interface RedisCarrierOptions {
  readonly url: string;
  /** The first part of all keys. */
  readonly prefix: string;
  /** Milliseconds after which a message of a consumer that died comes again, once to three times. Default 15 000. */
  readonly lease?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What the start waits for the first connection. */
const FIRST_CONNECTION_MS = 1_000;
const INFO_DEADLINE_MS = 1_000;
const CLOSE_MS = 1_000;
/** Events that BullMQ keeps of a queue; they are not read. */
const MAX_EVENTS = 100;
const DEFAULT_LEASE_MS = 15_000;

/**
 * Carries messages by BullMQ. A message is gone from Redis when its handler ends, in whatever way. When its process
 * dies, another consumer gets it again after one to three leases.
 *
 * The library is loaded here, so that a gateway without Redis does not load it.
 */
export async function openRedisCarrier(options: RedisCarrierOptions): Promise<Carrier> {
  const { url, prefix, clock, log, lease = DEFAULT_LEASE_MS } = options;
  const bullmq = await import('bullmq');
  const outage = createOutage(clock, log);
  const publisher = connectPublisher(url);
  let isClosed = false;
  let lastError: unknown;
  publisher.on('error', (error) => {
    lastError = error;
  });
  publisher.on('close', () => {
    if (!isClosed) outage.began(lastError);
  });
  publisher.on('ready', () => {
    lastError = undefined;
    outage.ended();
  });
  const firstConnection = new Promise<void>((resolve) => publisher.once('ready', resolve));
  if (await endsWithin(FIRST_CONNECTION_MS, firstConnection)) await warnOfEviction(publisher, log);

  const senders = new Map<string, ReturnType<typeof createSender>>();
  function senderOf(queueId: string) {
    const known = senders.get(queueId);
    if (known !== undefined) return known;
    const made = createSender(
      new bullmq.Queue(queueId, {
        connection: publisher,
        prefix,
        skipVersionCheck: true,
        streams: { events: { maxLen: MAX_EVENTS } },
      }),
      clock,
      outage,
    );
    senders.set(queueId, made);
    return made;
  }

  const sending = createSending(outage.trouble);
  return {
    form: 'redis',

    async send(queueId, message) {
      if (publisher.status !== 'ready') return 'away';
      return sending(() => senderOf(queueId).send(message));
    },

    receive: (queueId, hands) => receiveFromRedis({ bullmq, url, prefix, lease, outage }, queueId, hands),

    async close() {
      isClosed = true;
      const closing = [...senders.values()].map((sender) => sender.close());
      await endsWithin(CLOSE_MS, Promise.allSettled(closing));
      publisher.disconnect();
    },
  };
}

function createSender(queue: BullMq.Queue, clock: Clock, outage: Outage) {
  queue.on('error', (error) => outage.trouble(error));
  const room = createRoom(clock, async () => {
    const { wait = 0, delayed = 0 } = await queue.getJobCounts('wait', 'delayed');
    return wait + delayed;
  });
  return {
    async send({ id, isNamed, text, delay }: Message): Promise<SendResult> {
      if (!(await room.has())) return 'full';
      await queue.add('hint', text, {
        attempts: 1,
        removeOnComplete: true,
        removeOnFail: true,
        delay,
        // Not BullMQ's own job id: that one would swallow a message that comes while its namesake is worked on.
        ...(isNamed ? { deduplication: { id, keepLastIfActive: true } } : { jobId: id }),
      });
      room.sent();
      return 'ok';
    },
    close: () => queue.close(),
  };
}

/** Messages are hints, so a Redis that drops keys under pressure is a nuisance and no fault. */
async function warnOfEviction(redis: { info(section: string): Promise<string> }, log: Logger): Promise<void> {
  let policy: string | undefined;
  try {
    policy = /^maxmemory_policy:(\S+)/m.exec(
      await within(INFO_DEADLINE_MS, 'INFO', redis.info('memory')),
    )?.[1];
  } catch (error) {
    log.debug({ err: error }, 'Redis does not tell its maxmemory-policy');
  }
  if (policy === undefined || policy === 'noeviction') return;
  log.warn(
    { maxmemory_policy: policy },
    'Redis may drop messages when its memory is full; maxmemory-policy noeviction is better for queues',
  );
}
