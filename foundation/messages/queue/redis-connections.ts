import { setTimeout as pause } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';

/** Milliseconds that Redis may be silent while an answer to a publisher is due. */
const ANSWER_DEADLINE_MS = 1_000;
/** The same for a consumer, whose waiting for a message is a command that takes up to `BLOCK_SECONDS`. */
const SILENCE_DEADLINE_MS = 12_000;
const CONNECT_DEADLINE_MS = 2_000;

/** Seconds that a consumer waits for a message before it asks anew. */
export const BLOCK_SECONDS = 5;

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

/** How late a consumer hears that Redis refused a command. */
const REFUSAL_DELAY_MS = 1_000;

/** The connections of one consumer. */
export interface ConsumerConnections {
  /** For commands; BullMQ makes a copy of it to wait with. */
  readonly main: Redis;
  /** Breaks them all. */
  disconnect(): void;
}

/** BullMQ waits for the connection rather than asking again, so commands of a consumer wait for Redis. They are few. */
export function connectConsumer(url: string, onError: (error: Error) => void): ConsumerConnections {
  const all: Redis[] = [];
  const keep = (connection: Redis) => {
    connection.on('error', onError);
    all.push(connection);
    return connection;
  };
  const main = keep(
    new Redis(url, { ...common, maxRetriesPerRequest: null, socketTimeout: SILENCE_DEADLINE_MS }),
  );
  // After a refusal (a read-only replica, no memory, no permission) BullMQ asks again at once, for ever.
  const { sendCommand } = main;
  main.sendCommand = (...args) => {
    const answer = sendCommand.apply(main, args);
    const isScript = args[0].name.startsWith('eval');
    return isScript && answer instanceof Promise ? answer.catch(rejectLater) : answer;
  };
  // BullMQ gives no way to reach its copy while that has never been connected.
  const { duplicate } = main;
  main.duplicate = ((override?: Partial<RedisOptions>) =>
    keep(duplicate.call(main, override) as Redis)) as typeof main.duplicate;
  return {
    main,
    disconnect: () => {
      for (const connection of all) connection.disconnect();
    },
  };
}

async function rejectLater(error: Error): Promise<never> {
  // A script that the server does not know is no refusal: it is sent in full then.
  if (error.name === 'ReplyError' && !error.message.startsWith('NOSCRIPT')) await pause(REFUSAL_DELAY_MS);
  throw error;
}
