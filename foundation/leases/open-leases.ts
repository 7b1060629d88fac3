import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Database } from '../data/database.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import type { Redis } from '../redis/redis.ts';
import { createLeases } from './create-leases.ts';
import type { LeaseSignals } from './lease-signals.ts';
import type { LeaseStore } from './lease-store.ts';
import { leaseRegistration, sweepLeases } from './lease-tables.ts';
import type { OpenLeases } from './leases.ts';
import { createMemoryStore } from './memory-store.ts';
import { createRedisFirstStore } from './redis-first-store.ts';
import { createRedisStore } from './redis-store.ts';
import { createTableStore } from './table-store.ts';

const SWEEP_MS = 600_000;

/** What the leases of a gateway are opened with. */
export interface OpenLeasesParts {
  /** The connection to Redis, where there is one. */
  readonly redis: Redis | undefined;
  /** Begins the keys in Redis: deployments that share one need one each. */
  readonly prefix: string;
  readonly database: Pick<Database, 'register' | 'system' | 'family' | 'eraseOfAll' | 'clock'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  readonly metrics: PluginMetrics;
  /** See `LeasesParts`. */
  readonly signals?: LeaseSignals;
}

/**
 * Opens the leases: in Redis with the database behind it where there is one, in the database on PostgreSQL and MySQL,
 * and on SQLite in memory, except strict leases: they are in the database there, too, since they exclude other
 * processes on the file. Registers tables of its own, so a database must be there.
 */
export async function openLeases(parts: OpenLeasesParts): Promise<OpenLeases> {
  const { redis, prefix, database, clock, ids, log, metrics, signals } = parts;
  const alone = metrics.gauge({
    name: 'svc_locks_redis_alone',
    help: '1 while Redis grants leases to this process, 0 while the database does (always 0 without Redis)',
  });
  const common = { clock, ids, log, metrics };
  await database.register(leaseRegistration);
  const table = createTableStore(database, clock);
  const end = new AbortController();
  const sweep = setInterval(() => {
    sweepLeases(database, end.signal).catch((err: unknown) =>
      log.debug({ err }, 'old leases could not be swept'),
    );
  }, SWEEP_MS);
  sweep.unref();
  const isAlone = redis === undefined && database.family === 'sqlite';
  const store = isAlone
    ? askingBoth(createMemoryStore(), table)
    : redis === undefined
      ? table
      : createRedisFirstStore({ first: createRedisStore(redis, prefix), second: table, redis, clock });
  const observe = () => alone.set(redis?.isUp() === true ? 1 : 0);
  observe();
  const unobserve = redis?.onChange(observe);
  const leases = createLeases({
    ...common,
    store,
    strictStore: table,
    signals: isAlone ? undefined : signals,
  });
  return {
    ...leases,
    async close() {
      clearInterval(sweep);
      end.abort();
      unobserve?.();
      await leases.close();
    },
  };
}

/** A store whose strict leases lie in another one: what is held is found, listed and revoked in both. */
function askingBoth(store: LeaseStore, strict: LeaseStore): LeaseStore {
  return {
    ...store,
    find: async (place) => (await store.find(place)) ?? strict.find(place),
    revoke: async (place) => (await store.revoke(place)) ?? strict.revoke(place),
    list: async (key) => [...(await store.list(key)), ...(await strict.list(key))],
  };
}
