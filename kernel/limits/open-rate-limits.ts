import { Redis } from 'ioredis';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';

/** Rate limits that replicas share through Redis when there is a URL, and that this process counts alone otherwise. */
export function openRateLimits(parts: {
  redisUrl: string | undefined;
  deployment: string;
  clock: Clock;
  log: Logger;
}): RateLimits {
  const { redisUrl, deployment, clock, log } = parts;
  if (redisUrl === undefined) return createRateLimits({ clock, log });
  // Only says where Redis is: the windows open a connection of their own from it.
  const redis = new Redis(redisUrl, { lazyConnect: true });
  return createRateLimits({ redis, deployment, clock, log });
}
