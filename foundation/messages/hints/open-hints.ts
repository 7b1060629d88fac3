import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import type { PluginMetrics } from '../../observability/plugin-metrics.ts';
import { type Carrier, createHints } from './create-hints.ts';
import type { Hints } from './hints.ts';
import { openPostgresCarrier, type PostgresCarrierOptions } from './postgres-carrier.ts';
import { createProcessCarrier } from './process-carrier.ts';

export interface OpenHintsOptions {
  /** Where Redis is; it is used whatever the database. */
  readonly redisUrl?: string | undefined;
  /**
   * The gateway's database: where it is PostgreSQL, it carries the messages without Redis. The role owns the table that
   * it makes.
   */
  readonly database: Pick<Database, 'family' | 'system'>;
  /** They wake the consumers of the PostgreSQL form. */
  readonly events: PostgresCarrierOptions['events'];
  /**
   * Distinguishes deployments that share a Redis or a database: lower-case letters, digits and `-`, beginning with a
   * letter, 40 at most. Default `agent-gateway`.
   */
  readonly prefix?: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: PluginMetrics;
}

const PREFIX = /^[a-z][a-z0-9-]{0,39}$/;

/**
 * Opens the queue in the best form that is there: Redis, else PostgreSQL, else (one SQLite file, or MySQL) this
 * process, where the sweepers find what other replicas have to do. The log says which. A Redis or PostgreSQL that is
 * away does not hinder the start: `send` answers false until it is back.
 *
 * @throws TypeError for a malformed prefix
 */
export async function openHints(options: OpenHintsOptions): Promise<Hints> {
  const { prefix = 'agent-gateway', database, clock, ids, log, metrics } = options;
  if (!PREFIX.test(prefix)) {
    throw new TypeError(
      `The prefix of the queue is lower-case letters, digits and "-", not ${JSON.stringify(prefix)}`,
    );
  }
  const carrier = await openCarrier(options, prefix);
  log.info({ form: carrier.form }, `queue messages go through ${PLACES[carrier.form]}`);
  if (carrier.form === 'process' && database.family !== 'sqlite')
    log.info('queue messages reach no other replica, which finds its work by sweeps; REDIS_URL is faster');
  return createHints(carrier, { clock, ids, log, metrics });
}

const PLACES = {
  process: 'this process',
  redis: 'Redis',
  postgres: 'PostgreSQL',
} as const;

async function openCarrier(options: OpenHintsOptions, prefix: string): Promise<Carrier> {
  const { redisUrl, database, events, clock, log } = options;
  if (redisUrl !== undefined) {
    // With it come BullMQ and ioredis, which nothing else here needs.
    const { openRedisCarrier } = await import('./redis-carrier.ts');
    return openRedisCarrier({ url: redisUrl, prefix, clock, log });
  }
  if (database.family === 'postgres') return openPostgresCarrier({ database, events, prefix, clock, log });
  return createProcessCarrier();
}
