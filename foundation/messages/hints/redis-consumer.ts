import { setTimeout as pause } from 'node:timers/promises';
import type * as BullMq from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { endsWithin } from '../../base/deadline.ts';
import type { Hands, Reception } from './create-hints.ts';
import type { Outage } from './redis-outage.ts';

/** Milliseconds that Redis may be silent while an answer to a publisher is due. */
const ANSWER_DEADLINE_MS = 1_000;
/** The same for a consumer, whose waiting for a message is a command that takes up to `BLOCK_SECONDS`. */
const SILENCE_DEADLINE_MS = 12_000;
const CONNECT_DEADLINE_MS = 2_000;

/** Seconds that a consumer waits for a message before it asks again. */
const BLOCK_SECONDS = 5;

const common = {
  connectTimeout: CONNECT_DEADLINE_MS,
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
} satisfies RedisOptions;

/** The connection of publishers. It queues nothing: without Redis a command fails at once. */
export function connectPublisher(url: string): Redis {
  return new Redis(url, {
    ...common,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: ANSWER_DEADLINE_MS,
  });
}

/** Milliseconds after which a consumer learns that Redis refused a command. */
const REFUSAL_DELAY_MS = 1_000;

/**
 * The connections of one consumer. BullMQ waits for the connection rather than asking again, so commands of a consumer
 * wait for Redis. They are few.
 */
function connectConsumer(url: string, onError: (error: Error) => void) {
  const all: Redis[] = [];
  const keep = (connection: Redis) => {
    connection.on('error', onError);
    all.push(connection);
    easeRefusals(connection);
    return connection;
  };
  const main = keep(
    new Redis(url, { ...common, maxRetriesPerRequest: null, socketTimeout: SILENCE_DEADLINE_MS }),
  );
  // BullMQ gives no way to reach its copy while that has never been connected.
  const { duplicate } = main;
  main.duplicate = ((override?: Partial<RedisOptions>) =>
    keep(duplicate.call(main, override) as Redis)) as typeof main.duplicate;
  return {
    /** For commands; BullMQ makes a copy of it to wait with. */
    main,
    /** Breaks them all. */
    disconnect(): void {
      for (const connection of all) connection.disconnect();
    },
  };
}

/** The version of a Redis that does not tell it: BullMQ waits to the millisecond for what is delayed then. */
const UNKNOWN_VERSION = 'redis_version:6.2.0';

/**
 * Stands between BullMQ and a Redis that refuses commands: a read-only replica, one without memory, a role without the
 * right.
 */
function easeRefusals(connection: Redis): void {
  const { sendCommand } = connection;
  connection.sendCommand = (...args) => {
    const answer = sendCommand.apply(connection, args);
    if (!(answer instanceof Promise)) return answer;
    const easedAnswer = answer.catch((error: Error) => eased(args[0].name, error));
    // The client's own checks look at the command, and not at what is returned here.
    easedAnswer.catch(() => {});
    return easedAnswer;
  };
}

async function eased(command: string, error: Error): Promise<string> {
  if (error.name !== 'ReplyError') throw error;
  // A consumer that is refused the version would end for good.
  if (command === 'info') return UNKNOWN_VERSION;
  // It asks again at once, for ever. A script that the server does not know is no refusal: it is sent in full then.
  if (command.startsWith('eval') && !error.message.startsWith('NOSCRIPT')) await pause(REFUSAL_DELAY_MS);
  throw error;
}

interface RedisReceptionParts {
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
