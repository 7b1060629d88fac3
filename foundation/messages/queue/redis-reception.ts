import { setTimeout as pause } from 'node:timers/promises';
import type * as BullMq from 'bullmq';
import type { Hands, Reception } from './carrier.ts';
import { endsWithin } from './ends-within.ts';
import type { Outage } from './outage.ts';
import { BLOCK_SECONDS, connectConsumer } from './redis-connections.ts';

export interface RedisReceptionParts {
  readonly bullmq: typeof BullMq;
  readonly url: string;
  readonly prefix: string;
  /** Milliseconds for which a message belongs to the consumer that has it, renewed while it lives. */
  readonly lease: number;
  readonly outage: Outage;
}

const END_MS = 1_500;
const RETRY_MS = 1_000;
/** How often a message may come again because its consumer died; the number only has to be out of reach. */
const MAX_STALLED = 1_000_000;

/** A BullMQ worker with connections of its own, which reconnect for ever. */
export function receiveFromRedis(parts: RedisReceptionParts, queueId: string, hands: Hands): Reception {
  const { bullmq, url, prefix, lease, outage } = parts;
  let isStopping = false;
  // Shutting down breaks connections; that is no news.
  const report = (error: unknown) => {
    if (!isStopping) outage.trouble(error);
  };
  const connections = connectConsumer(url, report);

  async function handOver(job: BullMq.Job, token?: string): Promise<void> {
    if (isStopping) {
      // It was on its way when the consumer stopped: the next one gets it.
      await job.moveToWait(token);
      throw new bullmq.WaitingError();
    }
    await hands.start(job.deduplicationId ?? (job.id as string), job.data);
  }

  /** BullMQ's own closing waits for Redis, and leaves its timers behind when that is away. */
  class Worker extends bullmq.Worker {
    async abandon(): Promise<void> {
      await this.pause(true);
      await this.lockManager.close();
    }
  }

  const worker = new Worker(queueId, handOver, {
    connection: connections.main,
    prefix,
    skipVersionCheck: true,
    autorun: false,
    concurrency: hands.concurrency,
    drainDelay: BLOCK_SECONDS,
    lockDuration: lease,
    stalledInterval: lease,
    maxStalledCount: MAX_STALLED,
    runRetryDelay: RETRY_MS,
  });
  worker.on('error', report);

  async function run(): Promise<void> {
    while (!isStopping) {
      try {
        await worker.run();
      } catch (error) {
        report(error);
      }
      if (!isStopping) await pause(RETRY_MS);
    }
  }
  void run();

  let closing: Promise<void> | undefined;
  return {
    stop() {
      isStopping = true;
      closing ??= worker.close();
    },
    async end() {
      const hasClosed = await endsWithin(END_MS, closing ?? worker.close());
      if (!hasClosed) await worker.abandon();
      connections.disconnect();
    },
  };
}
