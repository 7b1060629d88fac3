import type { Clock } from '../base/clock.ts';
import { MemoryWindow, WINDOW_MS } from '../base/sliding-window.ts';
import { type Redis, redisScript } from '../redis/redis.ts';

/**
 * Who a window belongs to (specification 1, Limits): a tenant, a tenant's user, a source address, a source address at
 * bootstrap; or a key of a route's own.
 */
export type RateWindow = 'tenant' | 'user' | 'anonymous' | 'bootstrap' | 'route';

/** Whose requests a window counts, for whoever is refused: it says which limit there is to ask for. */
const COUNTED: Readonly<Record<RateWindow, string>> = {
  tenant: 'of the tenant',
  user: 'of this user of the tenant',
  anonymous: 'without a credential from this address',
  bootstrap: 'for the bootstrap from this address',
  route: 'of this kind',
};

/** The sentence for a caller whose request the window has no room for. */
export function refusalOf(window: RateWindow, limit: number): string {
  return `No more than ${limit} requests a minute ${COUNTED[window]} are allowed`;
}

/** The sliding one-minute windows of the gateway. */
export type RateLimits = ReturnType<typeof createRateLimits>;

/** What a rate limit says about one request; the `X-RateLimit-*` headers are read from it. */
export interface Decision {
  readonly allowed: boolean;
  /** Requests a minute. */
  readonly limit: number;
  /** Requests that would still be admitted now. */
  readonly remaining: number;
}

/** What the rate limits need. */
export interface RateLimitsOptions {
  /** Where windows are shared between replicas; without it each process counts for itself. */
  readonly redis?: Redis | undefined;
  /** Name of the deployment: others on the same Redis count for themselves. Default `agent-gateway`. */
  readonly deployment?: string;
  readonly clock: Clock;
}

/** Callers per window that this process remembers in each half of its memory. */
const MAX_KEYS = 50_000;

/** How long a request may wait for Redis. */
const ANSWER_MS = 100;
/** How long Redis is left alone after it refused, or did not answer in that time. */
const FAILURE_PAUSE_MS = 1_000;

/**
 * The exact sliding window in Redis: a list of the times at which requests were admitted, by the clock of Redis, so
 * that the clocks of the replicas do not matter. A refused request writes nothing. The key expires a minute after the
 * last admitted request. What lies in the future was admitted before that clock was set back, or by another server
 * before a failover: it is moved back as far, or it would count for as long as the clock needs to get there again.
 * ARGV: limit, window in milliseconds. Answers how many requests the window has with this one.
 */
const CONSUME = redisScript(`
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local newest = tonumber(redis.call('lindex', KEYS[1], -1) or now)
if newest > now then
  local admitted = redis.call('lrange', KEYS[1], 0, -1)
  redis.call('del', KEYS[1])
  for _, at in ipairs(admitted) do
    redis.call('rpush', KEYS[1], string.format('%.0f', at - newest + now))
  end
  redis.call('pexpire', KEYS[1], window)
end
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
if used >= limit then return limit + 1 end
redis.call('rpush', KEYS[1], string.format('%.0f', now))
redis.call('pexpire', KEYS[1], window)
return used + 1
`);

/** Takes the newest request of a window out again. */
const GIVE_BACK = redisScript(`return redis.call('rpop', KEYS[1])`);

/**
 * Exact sliding windows: in no 60 seconds are more than `limit` requests of a key admitted, by all replicas together
 * while Redis answers, by each process for itself while it does not. Refused requests do not count, so a caller that
 * keeps hammering is served again as soon as its oldest admitted request is a minute old, and one that waits
 * `Retry-After: 60` seconds always is.
 *
 * The process keeps its own log also while Redis decides: a caller that used up the limit in this process alone is
 * refused without a round trip, and when Redis fails the count goes on instead of beginning at zero. What was counted
 * in memory is not carried to Redis afterwards: over such a change a key may get up to `limit` requests from each
 * store.
 */
export function createRateLimits(options: RateLimitsOptions) {
  const { redis, deployment = 'agent-gateway', clock } = options;
  const memory: Record<RateWindow, MemoryWindow> = {
    tenant: new MemoryWindow(MAX_KEYS),
    user: new MemoryWindow(MAX_KEYS),
    anonymous: new MemoryWindow(MAX_KEYS),
    bootstrap: new MemoryWindow(MAX_KEYS),
    route: new MemoryWindow(MAX_KEYS),
  };
  let pausedUntil = Number.NEGATIVE_INFINITY;
  redis?.onChange(() => {
    pausedUntil = Number.NEGATIVE_INFINITY;
  });

  const keyOf = (window: RateWindow, key: string) => `${deployment}:limit:${window}:${key}`;

  function consumeHere(window: RateWindow, key: string, limit: number): Decision {
    const now = clock.monotonic();
    const requests = memory[window].log(key, now);
    const decision = decide(requests.count(now) + 1, limit);
    if (decision.allowed) requests.add(now);
    return decision;
  }

  async function consumeShared(redis: Redis, window: RateWindow, key: string, limit: number) {
    // Entered below with the time of the call: Redis admits later than that, so the own log frees no later than Redis.
    const now = clock.monotonic();
    let used: unknown;
    try {
      used = await redis.run(CONSUME, [keyOf(window, key)], [limit, WINDOW_MS], ANSWER_MS);
    } catch {
      // Logged by the connection, once per outage.
      pausedUntil = clock.monotonic() + FAILURE_PAUSE_MS;
      return consumeHere(window, key, limit);
    }
    const decision = decide(Number(used), limit);
    if (decision.allowed) memory[window].log(key, clock.monotonic()).add(now);
    return decision;
  }

  return {
    /**
     * Counts one request of `key` against `limit` requests a minute (a positive integer) and says whether it may go on.
     * Never throws or rejects. The answer is immediate where this process can give it alone, a promise where Redis is
     * asked, which takes one round trip and 100 ms at most.
     */
    consume(window: RateWindow, key: string, limit: number): Decision | Promise<Decision> {
      const now = clock.monotonic();
      if (redis === undefined || now < pausedUntil || !redis.isUp()) return consumeHere(window, key, limit);
      if (memory[window].log(key, now).count(now) >= limit) return decide(limit + 1, limit);
      return consumeShared(redis, window, key, limit);
    },
    /**
     * Takes a request back that `consume` admitted here and another window refused: it is the newest of `key`, or one
     * of another replica that is as young. Where this process has admitted none, nothing happens.
     */
    giveBack(window: RateWindow, key: string): void {
      const now = clock.monotonic();
      if (!memory[window].removeNewest(key, now)) return;
      if (redis === undefined || now < pausedUntil || !redis.isUp()) return;
      // Not waited for: its caller is refused already. An outage is logged by the connection.
      redis.run(GIVE_BACK, [keyOf(window, key)], [], ANSWER_MS).catch(() => {});
    },
  };
}

/** The decision about a request that is the `used`-th of its window; one beyond the limit is refused. */
function decide(used: number, limit: number): Decision {
  return used <= limit
    ? { allowed: true, limit, remaining: limit - used }
    : { allowed: false, limit, remaining: 0 };
}
