import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Family } from '../../data/family.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Carrier } from './carrier.ts';
import { createQueue } from './create-queue.ts';
import { openPostgresCarrier } from './postgres-carrier.ts';
import { createProcessCarrier } from './process-carrier.ts';
import type { Queue, QueueObserver } from './queue.ts';
import { openRedisCarrier } from './redis-carrier.ts';

export interface OpenQueueOptions {
  /** Where Redis is; it is used whatever the database. */
  readonly redisUrl?: string | undefined;
  /** The gateway's database, where that is PostgreSQL; used without Redis. The role owns the table that it makes. */
  readonly postgresUrl?: string | undefined;
  /** What the gateway's database is. */
  readonly family: Family;
  /**
   * Tells deployments apart that share a Redis or a database: lower-case letters, digits and `-`, beginning with a letter, 40 at
   * most. Default `agent-gateway`.
   */
  readonly prefix?: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly observe?: QueueObserver;
}

const PREFIX = /^[a-z][a-z0-9-]{0,39}$/;

/**
 * Opens the queue in the best form that is there: Redis, else PostgreSQL, else (one SQLite file) this process, else (MySQL)
 * none, where the sweepers carry the work alone. The log says which. A Redis or PostgreSQL that is away does not hinder
 * the start: `publish` answers false until it is back.
 *
 * @throws TypeError for a malformed prefix
 */
export async function openQueue(options: OpenQueueOptions): Promise<Queue> {
  const { prefix = 'agent-gateway', clock, ids, log, observe = SILENT } = options;
  if (!PREFIX.test(prefix)) {
    throw new TypeError(
      `The prefix of the queue is lower-case letters, digits and "-", not ${JSON.stringify(prefix)}`,
    );
  }
  const carrier = await openCarrier(options, prefix);
  if (carrier.delivers) log.info({ form: carrier.form }, `queue messages go through ${PLACES[carrier.form]}`);
  else {
    log.info(
      { form: carrier.form },
      'there is no carrier of queue messages on this database: sweepers alone find the work, which takes longer; REDIS_URL gives one',
    );
  }
  return createQueue(carrier, { clock, ids, log, observe });
}

const PLACES = {
  process: 'this process',
  redis: 'Redis',
  postgres: 'PostgreSQL',
  sweeper: 'nothing',
} as const;

function openCarrier(options: OpenQueueOptions, prefix: string): Carrier | Promise<Carrier> {
  const { redisUrl, postgresUrl, family, clock, log } = options;
  if (redisUrl !== undefined) return openRedisCarrier({ url: redisUrl, prefix, clock, log });
  if (postgresUrl !== undefined) return openPostgresCarrier({ url: postgresUrl, prefix, clock, log });
  return family === 'sqlite' ? createProcessCarrier() : createSweeperCarrier();
}

const SILENT: QueueObserver = { published: () => undefined, delivered: () => undefined };

/** Carries nothing: work is found by the sweepers of its consumers alone. */
function createSweeperCarrier(): Carrier {
  return {
    form: 'sweeper',
    delivers: false,
    send: async () => 'none',
    receive: () => ({ stop: () => undefined, end: async () => undefined }),
    close: async () => undefined,
  };
}
