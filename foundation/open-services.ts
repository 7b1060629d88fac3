import type { AuditTrail } from './audit/audit-trail.ts';
import type { Clock } from './base/clock.ts';
import type { Ids } from './base/ids.ts';
import { lacksOffer, offerNamed } from './base/offers.ts';
import type { Environment } from './config/read-config.ts';
import type { ServiceSettings } from './config/service-settings.ts';
import type { Database } from './data/database.ts';
import { openEgress } from './egress/open-egress.ts';
import { eventSignals } from './leases/lease-signals.ts';
import { openLeases } from './leases/open-leases.ts';
import { openDurableEvents } from './messages/durable-events/open-durable-events.ts';
import { openEvents } from './messages/events/open-events.ts';
import { openHints } from './messages/hints/open-hints.ts';
import { openJobs } from './messages/jobs/open-jobs.ts';
import { ObjectErrors } from './objects/object-errors.ts';
import { createObjectMetrics } from './objects/object-space.ts';
import type { ObjectStoreUrl } from './objects/object-store-url.ts';
import { OBJECT_STORES, type OfferedObjectStore } from './objects/offered-store.ts';
import { openObjects } from './objects/open-objects.ts';
import type { Logger, Logging } from './observability/logger.ts';
import type { MetricRegistry } from './observability/metric-registry.ts';
import { createPluginMetrics } from './observability/plugin-metrics.ts';
import type { Probe } from './observability/readiness.ts';
import type { Redis } from './redis/redis.ts';
import { createStoredSecrets, SECRET_STORES, type SecretStore } from './secrets/secret-stores.ts';
import { createSecrets } from './secrets/secrets.ts';

/** What the services are opened with. */
export interface ServicesParts {
  readonly settings: ServiceSettings;
  readonly env: Environment;
  readonly database: Database;
  /** Where the database is, when it is PostgreSQL. */
  readonly postgresUrl: string | undefined;
  /** Stays open until the services are closed. */
  readonly redis: Redis | undefined;
  /** For BullMQ, which opens connections of its own. */
  readonly redisUrl: string | undefined;
  readonly trail: AuditTrail;
  readonly registry: MetricRegistry;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /**
   * What plugins contribute to an extension point now. The services are there before the plugins, so they look at each
   * use.
   */
  readonly contributions: (pointId: string) => readonly unknown[];
  /** Gets each secret that was read, before the caller does. */
  readonly logging: Pick<Logging, 'hide' | 'withoutSecrets'>;
}

/**
 * Opens the services that have an embedded and a distributed form, in the form that this deployment asks for. When one
 * cannot be opened, those before it are closed. `close` closes them side by side, since each may wait for a server that
 * does not answer, and then the events, which leases, hints and jobs use until their end.
 */
export async function openServices(parts: ServicesParts) {
  const { settings, env, database, postgresUrl, redis, redisUrl, trail, registry, clock, ids, log } = parts;
  const { deployment } = settings;
  const metrics = createPluginMetrics(registry, 'kernel');
  const { prometheus } = registry;
  const common = { clock, ids, log };
  await using opened = new AsyncDisposableStack();

  const events = openEvents({ ...common, redis, postgresUrl, channel: deployment, metrics });
  opened.defer(() => events.close());
  const leases = await openLeases({
    ...common,
    redis,
    prefix: `${deployment}:leases`,
    database,
    metrics,
    signals: eventSignals(events),
  });
  opened.defer(() => leases.close());
  const hints = await openHints({ ...common, redisUrl, database, events, prefix: deployment, metrics });
  opened.defer(() => hints.close());
  const jobs = openJobs({
    ...common,
    database,
    events,
    metrics,
    withoutSecrets: parts.logging.withoutSecrets,
  });
  opened.defer(() => jobs.close());
  const durableEvents = await openDurableEvents({ ...common, database, events, jobs });
  opened.defer(() => durableEvents.close());
  const observe = createObjectMetrics(prometheus);
  const { objectStore: url } = settings;
  const offered = () => parts.contributions(OBJECT_STORES) as readonly OfferedObjectStore[];
  const objects = await openObjects({ ...common, url, stores: offered, observe });
  opened.defer(() => objects.close());
  // What one replica stores is missing on the others, a purge too, and nothing fails until somebody asks for it.
  if (database.family !== 'sqlite' && url.form === 'files' && url.isDefault === true)
    log.warn(
      { folder: url.folder },
      'objects are files in the data folder, where other replicas do not see them: OBJECT_STORE_URL names a store, or a folder, that all share',
    );
  const stores = () => parts.contributions(SECRET_STORES) as readonly SecretStore[];
  const secrets = createSecrets({
    env,
    stored: createStoredSecrets({ stores, clock, maxAge: settings.secretMaxAge }),
    folder: settings.secretsDir,
    tenantMayName: settings.tenantSecrets,
    onResolved: parts.logging.hide,
  });
  const egress = openEgress({ ...common, database, trail, settings: settings.egress, metrics });
  opened.defer(() => egress.close());

  opened.move();
  return {
    services: { events, leases, hints, jobs, durableEvents, objects, egress, secrets },
    /** Of services that live in plugins: whether those are there. */
    probes: probesOf(url, offered),
    async close() {
      const closed = [egress, objects, hints, durableEvents, jobs, leases].map(async (service) =>
        service.close(),
      );
      await Promise.allSettled(closed);
      await events.close();
      await Promise.all(closed);
    },
  };
}

/**
 * Readiness reports when the plugin with the object store is missing. It does not ask whether a store answers, a
 * plugin's or S3: a replica is of use without it.
 */
function probesOf(url: ObjectStoreUrl, stores: () => readonly OfferedObjectStore[]): readonly Probe[] {
  if (url.form !== 'plugin') return [];
  const { name } = url;
  const check = async () => {
    if (offerNamed(name, stores()) === undefined)
      throw ObjectErrors.unavailable(lacksOffer('OBJECT_STORE_URL', name, stores()));
  };
  return [{ name: 'objects', check }];
}
