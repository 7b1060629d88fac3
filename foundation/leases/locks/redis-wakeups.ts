import type { Redis, RedisOptions } from 'ioredis';

/** Hears of locks that became free, over a connection of its own. */
export interface RedisWakeups {
  /** Begins to listen, at the first call; a process without contention needs no second connection. */
  start(): void;
  close(): void;
}

/**
 * Calls the listener with the keys that a channel tells. They are hints: what is lost while the connection is away is made
 * good by asking, so its failures need no word.
 */
export function createRedisWakeups(
  redis: Redis,
  channel: string,
  listener: (key: string) => void,
): RedisWakeups {
  let connection: Redis | undefined;
  return {
    start() {
      if (connection !== undefined) return;
      connection = redis.duplicate<RedisOptions>({
        lazyConnect: false,
        enableOfflineQueue: true,
        maxRetriesPerRequest: null,
        autoResubscribe: true,
        retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
      });
      connection.on('error', () => {});
      connection.on('message', (_, key: string) => listener(key));
      connection.subscribe(channel).catch(() => {});
    },
    close: () => connection?.disconnect(),
  };
}
