import type * as IoRedis from 'ioredis';
import { backoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/deadline.ts';
import type { Ids } from '../base/ids.ts';
import { throttledLog } from '../base/throttle.ts';
import type { Logger } from '../observability/logger.ts';
import { type Redis, type RedisScript, RedisStartError, redisScript } from './redis.ts';
import { createSubscriptions } from './subscriptions.ts';

/** What the connection is opened with. */
export interface RedisParts {
  /** `redis://…` or `rediss://…`; holds a password. */
  readonly url: string;
  /** The deployment's name, with which its keys begin. */
  readonly deployment: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes'>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Milliseconds for an answer, for a connection, and that the start waits for the first one. */
const ANSWER_MS = 1_000;
/**
 * Milliseconds that a server may be silent before ioredis breaks the socket: above all in the handshake, which has no
 * other deadline.
 */
const SILENCE_MS = 2_000;
/** Milliseconds that a server has for closing a socket with us. */
const DISCONNECT_MS = 200;
/** Milliseconds between two attempts to connect, from the first to all later ones. */
const RECONNECT = { first: 100, most: 1_000 };
/** Milliseconds for which a server is left alone that refuses to work. */
const REFUSAL_PAUSE_MS = 1_000;
/** Replies of a server that serves no client now. Older servers wrap them when a script meets them. */
const REFUSES_WORK = /\b(READONLY|OOM|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|NOAUTH|WRONGPASS)\b/;

/**
 * A server that takes this takes scripts and writes. The keys lie in two slots: a node of a cluster refuses to have
 * them in one script (`CROSSSLOT`), also where it has both.
 */
const PROBE = redisScript(`redis.call('set', KEYS[1], '', 'px', 1000) return 1`);

/**
 * Opens the connection: resolves when it is known whether Redis can be used, within a second. ioredis is loaded here,
 * so that a gateway without Redis does not load it.
 *
 * @throws RedisStartError where the server answers and refuses the database of the URL, or is a node of a cluster; it
 * never rejects otherwise
 */
export async function openRedis({ url, deployment, clock, ids, log }: RedisParts): Promise<Redis> {
  const ioredis = await import('ioredis');
  const retryStrategy = (attempt: number) => backoffDelay(attempt, RECONNECT, ids.bytes(1)[0]! / 255);
  const options: IoRedis.RedisOptions = {
    connectionName: deployment.replaceAll(/[^\w-]/g, '_'),
    connectTimeout: ANSWER_MS,
    socketTimeout: SILENCE_MS,
    disconnectTimeout: DISCONNECT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy,
  };
  const client = new ioredis.Redis(url, options);
  const listeners = new Set<(isUp: boolean) => void>();
  const warnOfRefusal = throttledLog<unknown>(clock, (err, count) =>
    log.warn({ err, count }, 'Redis refused a command'),
  );
  const subscriptions = createSubscriptions(() => new ioredis.Redis(url, options), warnOfRefusal);
  const known = Promise.withResolvers<void>();
  let isUp = false;
  let isReported = false;
  let isClosed = false;
  let lastError: unknown;
  let pause: NodeJS.Timeout | undefined;

  client.on('error', (error: unknown) => {
    lastError = error;
    // The outage was reported as a lost connection; that the password has changed is what the operator has to know.
    if (isReported && error instanceof ioredis.ReplyError) warnOfRefusal(error);
  });
  client.on('close', () => down(lastError ?? new Error('Redis closed the connection')));
  client.on('ready', () => {
    clearTimeout(pause);
    send(enterDatabase())
      .then(() => send(probe()))
      .then(up, () => undefined);
  });

  /**
   * ioredis passes over a database that the server refuses, and would work in that of the number 0, among the keys of
   * others. Each server says it in its own words: one without that number, a node of a cluster, a list of permissions.
   */
  async function enterDatabase(): Promise<void> {
    const { db = 0 } = client.options;
    if (db === 0) return;
    await client.select(db).catch((reason: unknown) => {
      const { message } = reason as Error;
      if (!(reason instanceof ioredis.ReplyError) || REFUSES_WORK.test(message)) throw reason;
      throw refused(`names database ${db}, which this Redis refuses (${message})`, reason);
    });
  }

  async function probe(): Promise<void> {
    await evaluate(PROBE, [`${deployment}:probe`, `${deployment}:other-slot`], []).catch(
      (reason: unknown) => {
        if (!(reason as Error).message.includes('CROSSSLOT')) throw reason;
        const why = 'names a node of a Redis Cluster, whose keys lie on several servers';
        throw refused(`${why}; name a Redis without cluster mode`, reason);
      },
    );
  }

  function refused(why: string, cause: unknown): RedisStartError {
    const refusal = new RedisStartError(`REDIS_URL: ${why}`, { cause });
    known.reject(refusal);
    return refusal;
  }

  function up(): void {
    lastError = undefined;
    if (isReported) log.info('Redis is back: this replica uses it again');
    isReported = false;
    change(true);
  }

  function down(reason: unknown): void {
    if (!isReported && !isClosed) {
      isReported = true;
      log.warn({ err: reason }, 'Redis is away: this replica works without it until it is back');
    }
    change(false);
  }

  function change(next: boolean): void {
    known.resolve();
    if (isUp === next) return;
    isUp = next;
    for (const listener of listeners) listener(next);
  }

  /** The answer to a command. */
  async function send<T>(command: Promise<T>): Promise<T> {
    try {
      return await within(ANSWER_MS, 'a command to Redis', command);
    } catch (reason) {
      if (client.status === 'ready' && !isClosed) failed(reason);
      throw reason;
    }
  }

  function failed(reason: unknown): void {
    const isReply = reason instanceof ioredis.ReplyError;
    if (isReply && !REFUSES_WORK.test((reason as Error).message)) {
      warnOfRefusal(reason);
    } else if (isReply || reason instanceof RedisStartError) {
      down(reason);
      clearTimeout(pause);
      // A new connection may lead to another server, where this one has become a replica.
      pause = setTimeout(() => client.disconnect(true), REFUSAL_PAUSE_MS);
    } else {
      // There was no answer in time, or the socket broke and has not said so yet.
      down(reason);
      client.disconnect(true);
    }
  }

  async function evaluate(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]) {
    try {
      return await client.evalsha(script.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return client.eval(script.lua, keys.length, ...keys, ...args);
    }
  }

  function close(): void {
    isClosed = true;
    clearTimeout(pause);
    change(false);
    subscriptions.close();
    client.disconnect();
  }

  function assertUp(): void {
    if (!isUp) throw new Error('Redis is away', { cause: lastError });
  }

  const timer = setTimeout(known.resolve, ANSWER_MS);
  try {
    await known.promise;
  } catch (error) {
    close();
    throw error;
  } finally {
    clearTimeout(timer);
  }

  return {
    isUp: () => isUp,

    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    async run(script, keys, args, deadline = ANSWER_MS) {
      assertUp();
      const answer = send(evaluate(script, keys, args));
      return deadline < ANSWER_MS ? within(deadline, 'a command to Redis', answer) : answer;
    },

    async publish(channel, texts) {
      assertUp();
      const pipeline = client.pipeline();
      for (const text of texts) pipeline.publish(channel, text);
      const replies = (await send(pipeline.exec())) ?? [];
      const errors = replies.flatMap(([error]) => (error === null ? [] : [error]));
      // An error that is no reply of Redis is the connection's.
      const broken = errors.find((error) => !(error instanceof ioredis.ReplyError));
      if (broken !== undefined) throw broken;
      return errors.length === 0 ? { count: 0 } : { count: errors.length, reason: errors[0] };
    },

    subscribe: (channel, subscriber) => subscriptions.add(channel, subscriber),

    close,
  };
}
