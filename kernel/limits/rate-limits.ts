import type { Redis } from 'ioredis';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { type Decision, decide } from './decision.ts';
import { MemoryWindow } from './memory-window.ts';
import { createRedisWindows } from './redis-windows.ts';

/** Who a window belongs to (specification 1, Limits): a tenant, a tenant's user, a source address, a source address at bootstrap. */
export type RateWindow = 'tenant' | 'user' | 'anonymous' | 'bootstrap';

/** The sliding one-minute windows of the gateway. */
export interface RateLimits {
  /**
   * Counts one request of `key` against `limit` requests a minute (a positive integer) and says whether it may go on.
   * Never throws or rejects. The answer is immediate where this process can give it alone, a promise where Redis is
   * asked, which takes one round trip and 100 ms at most.
   */
  consume(window: RateWindow, key: string, limit: number): Decision | Promise<Decision>;
  /** Closes the connection to Redis. */
  close(): void;
}

/** What the rate limits need. */
export interface RateLimitsOptions {
  /** Where windows are shared between replicas; without it each process counts for itself. */
  readonly redis?: Redis | undefined;
  /** Name of the deployment; default `agent-gateway`. */
  readonly deployment?: string;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Callers per window that this process remembers in each half of its memory; default 50 000. */
  readonly maxKeys?: number;
}

/**
 * Exact sliding windows: in no 60 seconds are more than `limit` requests of a key admitted, by all replicas together
 * while Redis answers, by each process for itself while it does not. Refused requests do not count, so a caller that
 * keeps hammering is served again as soon as its oldest admitted request is a minute old, and one that waits
 * `Retry-After: 60` seconds always is.
 *
 * The process keeps its own log also while Redis decides: whoever used up the limit in this process alone is refused
 * without a round trip, and when Redis fails the count goes on instead of beginning at zero. What was counted in
 * memory is not carried to Redis afterwards: over such a change a key may get up to `limit` requests from each store.
 */
export function createRateLimits({
  redis,
  deployment = 'agent-gateway',
  clock,
  log,
  maxKeys = 50_000,
}: RateLimitsOptions): RateLimits {
  const shared = redis === undefined ? undefined : createRedisWindows({ redis, deployment, clock, log });
  const memory: Record<RateWindow, MemoryWindow> = {
    tenant: new MemoryWindow(maxKeys),
    user: new MemoryWindow(maxKeys),
    anonymous: new MemoryWindow(maxKeys),
    bootstrap: new MemoryWindow(maxKeys),
  };

  function consumeHere(window: RateWindow, key: string, limit: number): Decision {
    const now = clock.monotonic();
    const requests = memory[window].log(key, now);
    const decision = decide(requests.count(now) + 1, limit);
    if (decision.allowed) requests.add(now);
    return decision;
  }

  async function consumeShared(window: RateWindow, key: string, limit: number): Promise<Decision> {
    // Entered below with the time of the call: Redis admits later than that, so the own log frees no later than Redis.
    const now = clock.monotonic();
    let decision: Decision;
    try {
      decision = await (shared as NonNullable<typeof shared>).consume(`${window}:${key}`, limit);
    } catch {
      // Logged where it was noticed, once per outage.
      return consumeHere(window, key, limit);
    }
    if (decision.allowed) memory[window].log(key, clock.monotonic()).add(now);
    return decision;
  }

  return {
    consume(window, key, limit) {
      if (shared?.isUp() !== true) return consumeHere(window, key, limit);
      const now = clock.monotonic();
      if (memory[window].log(key, now).count(now) >= limit) return decide(limit + 1, limit);
      return consumeShared(window, key, limit);
    },
    close: () => shared?.close(),
  };
}
