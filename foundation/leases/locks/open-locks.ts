import { Redis } from 'ioredis';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import { createLocks } from './claimed-locks.ts';
import type { LockHints } from './lock-hints.ts';
import type { LockObserver } from './lock-metrics.ts';
import type { OpenLocks } from './locks.ts';
import { createMemoryClaims } from './memory-claims.ts';
import { openDelegatedClaims } from './open-delegated-claims.ts';

/** What the locks of a gateway are opened with. */
export interface OpenLocksParts {
  /** `REDIS_URL`. */
  readonly redisUrl: string | undefined;
  /** Begins the keys in Redis: deployments that share one need one each. Default `svc:lock`. */
  readonly prefix?: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** See `lockMetrics`; default: nobody. */
  readonly observer?: LockObserver;
  /** Wakes waiters of other processes where the database grants the locks; without it they ask twice a second. */
  readonly hints?: LockHints;
}

/**
 * Opens the locks: in Redis with the database behind it where there is a URL, in the database on PostgreSQL and MySQL, and
 * in memory on SQLite, which then is for one process. Registers tables of its own, so a database must be there; a Redis that
 * is away only makes locks slower.
 */
export async function openLocks(parts: OpenLocksParts): Promise<OpenLocks> {
  const { redisUrl, database, clock, ids, log, observer } = parts;
  if (redisUrl === undefined && database.family === 'sqlite') {
    return createLocks({ claims: createMemoryClaims(clock), clock, ids, log, observer });
  }
  // Only says where Redis is: the locks open connections of their own from it.
  const redis = redisUrl === undefined ? undefined : new Redis(redisUrl, { lazyConnect: true });
  const claims = await openDelegatedClaims({ ...parts, redis });
  return createLocks({ claims, clock, ids, log, observer });
}
