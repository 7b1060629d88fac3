import type { Redis, RedisOptions } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { type Decision, decide } from './decision.ts';
import { WINDOW_MS } from './request-log.ts';

/** Rate windows that all replicas share. */
export interface RedisWindows {
  /** False while Redis is away: ask nothing of it then. */
  isUp(): boolean;
  /** Decides one request in one round trip. Rejects within 100 ms when Redis fails; `isUp` is false from then on. */
  consume(key: string, limit: number): Promise<Decision>;
  close(): void;
}

/** How long a request may wait for Redis. */
const ANSWER_DEADLINE_MS = 100;

/** How long a new connection may take, and how long it may be silent while an answer is due. */
const HANDSHAKE_DEADLINE_MS = 1_000;

/** How long Redis is left alone after it refused a command (read-only replica, out of memory, no permission). */
const REFUSAL_PAUSE_MS = 1_000;

/** How many different limits have a limiter ready; a limiter is cheap to make again. */
const LIMITERS = 256;

/**
 * The exact sliding window in Redis: a list of the times at which requests were admitted, by the clock of Redis, so that
 * the clocks of the replicas do not matter. A refused request writes nothing. The key goes away by itself a minute after
 * the last admitted request. The arguments and the reply are those of rate-limiter-flexible's own script: points to
 * consume, seconds, limit, seconds; consumed points (limit + 1 when refused) and milliseconds until one is free.
 */
const SLIDING_WINDOW_SCRIPT = `
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local window = ARGV[2] * 1000
local limit = tonumber(ARGV[3])
local oldest = redis.call('lindex', KEYS[1], 0)
while oldest and tonumber(oldest) <= now - window do
  local batch = redis.call('lrange', KEYS[1], 0, 127)
  local expired = 0
  for _, at in ipairs(batch) do
    if tonumber(at) > now - window then break end
    expired = expired + 1
  end
  redis.call('ltrim', KEYS[1], expired, -1)
  oldest = redis.call('lindex', KEYS[1], 0)
end
local used = redis.call('llen', KEYS[1])
if used + tonumber(ARGV[1]) > limit then
  return {limit + 1, oldest and tonumber(oldest) + window - now or window}
end
redis.call('rpush', KEYS[1], string.format('%.0f', now))
redis.call('pexpire', KEYS[1], window)
return {used + 1, window}
`;

/** What the shared windows need. */
export interface RedisWindowsOptions {
  /** Says where Redis is; the windows open a connection of their own with the same options. */
  readonly redis: Redis;
  /** Name of the deployment: others on the same Redis count for themselves. */
  readonly deployment: string;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Rate windows in Redis, by rate-limiter-flexible's `RateLimiterRedis` with a sliding-window script.
 *
 * The connection queues nothing: without a ready connection a command fails at once, an answer is waited for at most
 * 100 ms, and what was under way when the connection broke is not sent again. A connection that does not answer is
 * dropped and made anew in the background, again and again (within a second at most), and counts as up once Redis has
 * answered its handshake; no request probes it.
 */
export function createRedisWindows({ redis, deployment, clock, log }: RedisWindowsOptions): RedisWindows {
  const connection = redis.duplicate<RedisOptions>({
    lazyConnect: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: HANDSHAKE_DEADLINE_MS,
    connectTimeout: HANDSHAKE_DEADLINE_MS,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
  });
  let isClosed = false;
  let isFailing = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let lastError: Error | undefined;

  connection.on('error', (error: Error) => {
    lastError = error;
  });
  connection.on('close', () => failed(lastError));
  connection.on('ready', recovered);

  function failed(reason: unknown): void {
    if (isFailing || isClosed) return;
    isFailing = true;
    log.warn({ err: reason }, 'Redis fails: rate limits are counted in this process alone until it is back');
  }

  function recovered(): void {
    pausedUntil = Number.NEGATIVE_INFINITY;
    lastError = undefined;
    if (!isFailing) return;
    isFailing = false;
    log.info('Redis is back: rate limits are shared again');
  }

  const limiters = new LRUCache<number, RateLimiterRedis>({ max: LIMITERS });
  const limiterOf = (limit: number): RateLimiterRedis => {
    const known = limiters.get(limit);
    if (known !== undefined) return known;
    const made = new RateLimiterRedis({
      storeClient: connection,
      keyPrefix: `${deployment}:limit`,
      points: limit,
      duration: WINDOW_MS / 1_000,
      rejectIfRedisNotReady: true,
      customIncrTtlLuaScript: SLIDING_WINDOW_SCRIPT,
    });
    limiters.set(limit, made);
    return made;
  };

  return {
    isUp: () => connection.status === 'ready' && clock.monotonic() >= pausedUntil,

    async consume(key, limit) {
      try {
        const result = await withinDeadline(limiterOf(limit).consume(key));
        if (isFailing) recovered();
        return decide(result.consumedPoints, limit);
      } catch (reason) {
        // The library rejects with its result where the limit is used up, and with an Error where Redis failed. Its
        // `insuranceLimiter` would hide that error from the log, and cannot answer without a promise.
        if (reason instanceof RateLimiterRes) return decide(limit + 1, limit);
        pausedUntil = clock.monotonic() + REFUSAL_PAUSE_MS;
        failed(reason);
        const wasRefused = reason instanceof Error && reason.name === 'ReplyError';
        if (!wasRefused && connection.status === 'ready') connection.disconnect(true);
        throw reason;
      }
    },

    close() {
      isClosed = true;
      connection.disconnect();
    },
  };
}

/** The answer, or a rejection once it is overdue. */
function withinDeadline<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const overdue = () => reject(new Error(`Redis did not answer within ${ANSWER_DEADLINE_MS} ms`));
    // After a pause of this very process timers fire before the sockets are read: look there before giving up.
    const timer = setTimeout(() => setImmediate(overdue), ANSWER_DEADLINE_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
