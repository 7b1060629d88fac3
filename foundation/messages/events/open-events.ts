import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import type { PluginMetrics } from '../../observability/plugin-metrics.ts';
import { notificationConnection } from '../../postgres/notifications.ts';
import type { Redis } from '../../redis/redis.ts';
import { createEventBus } from './event-bus.ts';
import { createEventMetrics } from './event-metrics.ts';
import { DEFAULT_LIMITS, type EventLimits, type Events } from './events.ts';
import { redisTransport } from './redis-transport.ts';
import type { Transport } from './transport.ts';

/** What events are opened with. */
export interface OpenEventsOptions {
  /** The connection of the process to Redis, which stays open until events are closed; wins over PostgreSQL. */
  readonly redis?: Redis | undefined;
  /** `DATABASE_URL` where the database is PostgreSQL. */
  readonly postgresUrl?: string | undefined;
  /**
   * Name of the deployment, 50 bytes at most, default `agent-gateway`: deployments that share a Redis (whatever their
   * database number) or a PostgreSQL database need one each. The channel is `<name>:events`.
   */
  readonly channel?: string;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly clock: Clock;
  readonly metrics: PluginMetrics;
  /** Other bounds than the usual ones; for tests. */
  readonly limits?: Partial<EventLimits>;
}

/** Bytes of a deployment's name: with `:events` it must stay below the 63 of a name in PostgreSQL. */
const MAX_CHANNEL = 50;

/**
 * Opens the events of this process: across replicas by Redis, else by PostgreSQL, else in this process alone. Connects
 * in the background and does not fail when the server is away; `reach` says at once which way was chosen.
 *
 * @throws TypeError for a channel that is empty or too long.
 */
export function openEvents(options: OpenEventsOptions): Events {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return createEventBus({
    ids: options.ids,
    log: options.log,
    clock: options.clock,
    limits,
    metrics: createEventMetrics(options.metrics),
    transport: transportOf(options, limits),
  });
}

function transportOf(options: OpenEventsOptions, limits: EventLimits): Transport | undefined {
  const { redis, postgresUrl, channel: name = 'agent-gateway' } = options;
  if (name === '' || name.includes('\0') || Buffer.byteLength(name) > MAX_CHANNEL) {
    throw new TypeError(`The channel of events is a text of 1 to ${MAX_CHANNEL} bytes without zero bytes`);
  }
  const channel = `${name}:events`;
  if (redis !== undefined) return redisTransport(redis, channel);
  if (postgresUrl === undefined) return undefined;
  const connectDeadline = limits.answerDeadline;
  const notifications = { url: postgresUrl, channel, connectDeadline, statementDeadline: connectDeadline };
  return {
    reach: 'postgres',
    title: 'PostgreSQL',
    connect: (connectionEvents) => notificationConnection(notifications, connectionEvents),
  };
}
