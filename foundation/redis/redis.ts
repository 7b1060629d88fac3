import { createHash } from 'node:crypto';

/**
 * The one way of this process to the Redis that replicas share. One socket carries all commands and, once there is a
 * subscriber, a second one receives the channels: Redis asks for that. Both reconnect for ever, automatically.
 *
 * It fails fast, since everything that uses Redis can do without it: no command waits for a connection, none is sent
 * twice, and each has a deadline. An outage is one line of the log, and its end another, for all users of Redis
 * together; they need not log it again.
 *
 * @example
 * const INCREMENT = redisScript(`return redis.call('incrby', KEYS[1], ARGV[1])`);
 * if (redis.isUp()) total = await redis.run(INCREMENT, [`${deployment}:total`], [5]);
 */
export interface Redis {
  /**
   * Whether Redis takes commands now: it answered, and took a write, on this very connection. False while it is away,
   * silent, loading, out of memory or a read-only replica. Costs nothing; ask before each use.
   */
  isUp(): boolean;
  /** Calls the listener when `isUp` has become another; the result ends that. */
  onChange(listener: (isUp: boolean) => void): () => void;
  /**
   * Runs a script and gives its reply. It is sent in full only where the server does not know it yet.
   *
   * @param deadline milliseconds after which it rejects; at most and by default 1,000. A Redis that is silent for 1,000
   * ms is away.
   * @throws DeadlineError, or an error of the connection: the script may have run. An error of the server
   * (`ReplyError`): it refused.
   */
  run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    deadline?: number,
  ): Promise<unknown>;
  /** Publishes texts in order, in one round trip. Resolves with those that the server refused; throws as `run` does. */
  publish(channel: string, texts: readonly string[]): Promise<PublishRefusal>;
  /**
   * Receives a channel from now on, over all reconnects; the result ends that. There is one subscriber for a channel,
   * and channels belong to the server: the database number of the URL does not matter, so their names begin with the
   * deployment's.
   */
  subscribe(channel: string, subscriber: RedisSubscriber): () => void;
  /** Closes the sockets at once. What is under way rejects. */
  close(): void;
}

/** Receives a channel. None of its functions may throw. */
export interface RedisSubscriber {
  message(text: string): void;
  /** Messages arrive from now on. Those before it were missed, the first time as after each `lost`. */
  subscribed?(): void;
  /** No messages arrive until the next `subscribed`. */
  lost?(reason: unknown): void;
}

/** What the server did not publish although it works. */
export interface PublishRefusal {
  readonly count: number;
  readonly reason?: unknown;
}

/** The URL names what the server refuses. The message is for the operator. */
export class RedisStartError extends Error {
  override readonly name = 'RedisStartError';
}

/** A Lua script, with the hash by which a server knows it. */
export interface RedisScript {
  readonly lua: string;
  readonly sha: string;
}

/** Makes a script ready for `Redis.run`. */
export function redisScript(lua: string): RedisScript {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
