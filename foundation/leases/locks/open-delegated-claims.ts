import type { Redis } from 'ioredis';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Claims } from './claim.ts';
import { createDatabaseStore } from './database-store.ts';
import { createDelegatedClaims } from './delegated-claims.ts';
import { createDelegation } from './delegation.ts';
import type { LockHints } from './lock-hints.ts';
import type { LockObserver } from './lock-metrics.ts';
import { createLockSql } from './lock-sql.ts';
import { sweepLocks } from './lock-sweep.ts';
import { lockRegistration } from './lock-tables.ts';
import type { DelegationTimes } from './reading.ts';
import { createRedisStore } from './redis-store.ts';

/** What the claims are opened with. */
export interface DelegatedClaimsParts {
  readonly redis: Redis | undefined;
  readonly database: Pick<Database, 'register' | 'system' | 'family'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  readonly observer?: LockObserver;
  readonly hints?: LockHints;
  /** Start of the keys in Redis; default `svc:lock`. */
  readonly prefix?: string;
  readonly times?: DelegationTimes;
}

/** Milliseconds for which a connection to Redis may be lost without a word: most are back at once. */
const RECONNECT_MS = 500;
const SWEEP_MS = 60_000;

/** Puts the two stores and the delegation together. Resolves when the locks can be used, or the database did not answer. */
export async function openDelegatedClaims(parts: DelegatedClaimsParts): Promise<Claims> {
  const { database, clock, ids, log, observer, hints, times } = parts;
  await database.register(lockRegistration);
  const db = createLockSql(database, clock);
  const redis =
    parts.redis === undefined
      ? undefined
      : createRedisStore({ redis: parts.redis, ids, log, prefix: parts.prefix });

  /** Also where none is configured. */
  let isRedisMissing = redis === undefined;
  let reconnect: NodeJS.Timeout | undefined;
  const delegation = createDelegation({
    db,
    clock,
    log,
    times,
    hasRedis: redis !== undefined,
    wish: () => {
      const dataset = redis?.dataset();
      const isOther = dataset === undefined ? isRedisMissing : dataset !== delegation.knowledge.dataset;
      return { dataset, suspend: isOther || claims.isOutsideRedis() };
    },
    learned: () => {
      observer?.redisAlone(delegation.knowledge.isRedisAlone(clock.monotonic()));
      claims.attend();
    },
  });
  const stores = { database: createDatabaseStore(db, hints), redis, delegation, clock };
  const claims = createDelegatedClaims(stores, ids);

  redis?.onChange(() => {
    clearTimeout(reconnect);
    isRedisMissing = false;
    if (redis.dataset() !== undefined) {
      tell();
      return;
    }
    reconnect = setTimeout(() => {
      isRedisMissing = true;
      tell();
    }, RECONNECT_MS);
  });

  /** Tells the database what has become of Redis; what is held is brought to where it belongs by that. */
  function tell(): void {
    delegation.beat().catch(() => {}); // the regular beat fails as well, and logs it
  }

  await redis?.known;
  isRedisMissing = redis?.dataset() === undefined;
  await delegation.start();
  const sweep = setInterval(() => {
    sweepLocks(db).catch((err: unknown) => log.debug({ err }, 'old locks could not be swept'));
  }, SWEEP_MS);
  sweep.unref();

  return {
    ...claims,
    async close() {
      clearInterval(sweep);
      await claims.close();
      clearTimeout(reconnect);
    },
  };
}
