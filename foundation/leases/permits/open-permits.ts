import { Redis } from 'ioredis';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import { createLockSql, type LockSql } from '../locks/lock-sql.ts';
import { createPermits } from './create-permits.ts';
import { createDatabaseStore } from './database-store.ts';
import { createFailoverStore } from './failover-store.ts';
import { createMemoryStore } from './memory-store.ts';
import type { PermitObserver } from './permit-metrics.ts';
import type { PermitStore } from './permit-store.ts';
import { permitRegistration } from './permit-tables.ts';
import type { OpenPermits } from './permits.ts';
import { sweepPlaces } from './places.ts';
import { createRedisStore } from './redis-store.ts';
import type { Revocations } from './revocations.ts';

const SWEEP_MS = 600_000;

/** What the permits of a gateway are opened with. */
export interface OpenPermitsParts {
  /** `REDIS_URL`. */
  readonly redisUrl: string | undefined;
  /** Begins the keys in Redis: deployments that share one need one each. */
  readonly prefix: string;
  readonly database: Pick<Database, 'register' | 'system' | 'family'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** See `permitMetrics`; default: nobody. */
  readonly observer?: PermitObserver;
  /** See `PermitsParts`. */
  readonly revocations?: Revocations;
}

/**
 * Opens the permits: in Redis with the database behind it where there is a URL, in the database on PostgreSQL and MySQL, and in memory on
 * SQLite, which then is for one process. Registers a table of its own, so a database must be there.
 */
export async function openPermits(parts: OpenPermitsParts): Promise<OpenPermits> {
  const { redisUrl, prefix, database, clock, ids, log, observer, revocations } = parts;
  const common = { clock, ids, log, observer };
  if (redisUrl === undefined && database.family === 'sqlite') {
    return createPermits({ ...common, store: createMemoryStore() });
  }
  await database.register(permitRegistration);
  const db = createLockSql(database, clock);
  const second = swept(createDatabaseStore(db), db, log);
  if (redisUrl === undefined) return createPermits({ ...common, store: second, revocations });
  // Only says where Redis is: the permits open a connection of their own from it.
  const first = await createRedisStore(new Redis(redisUrl, { lazyConnect: true }), prefix);
  return createPermits({ ...common, store: createFailoverStore({ first, second, log }), revocations });
}

/** The store, whose old places go from time to time until it is closed. */
function swept(store: PermitStore, db: LockSql, log: Pick<Logger, 'debug'>): PermitStore {
  const sweep = setInterval(() => {
    sweepPlaces(db).catch((err: unknown) => log.debug({ err }, 'old places of permits could not be swept'));
  }, SWEEP_MS);
  sweep.unref();
  return {
    ...store,
    async close() {
      clearInterval(sweep);
      await store.close();
    },
  };
}
