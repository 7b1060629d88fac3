import path from 'node:path';
import { createAuditTrail } from './audit/audit-trail.ts';
import { createDatabaseSink } from './audit/database-sink.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { createIds } from './base/ids.ts';
import type { KernelSettings } from './config/kernel-settings.ts';
import type { Environment } from './config/read-config.ts';
import { openDatabase } from './data/database.ts';
import { registerKernelTables } from './gateway-tables.ts';
import { createTracing } from './observability/create-tracing.ts';
import type { Logger, Logging } from './observability/logger.ts';
import { createMetrics, type Metrics } from './observability/metrics.ts';
import { createPluginMetrics } from './observability/plugin-metrics.ts';
import { openServices } from './open-services.ts';
import { openRedis } from './redis/open-redis.ts';
import { compareReplicas } from './replicas/compare-replicas.ts';
import { openResources } from './resources/open-resources.ts';
import { failures, waiting } from './resources/report.ts';
import type { Resources } from './resources/resources.ts';

/**
 * Milliseconds that the last audit records get to reach the database at the end; those that do not are in the journal.
 */
const AUDIT_DRAIN = 5_000;
/** The same where closing everything else has taken long: then the database does not answer anyway. */
const AUDIT_DRAIN_LATE = 500;
/** Seconds between the clocks of this machine and of the database that are worth a line of the log. */
const CLOCK_OFF = 5;

/** What infrastructure is opened with. */
export interface InfrastructureOptions {
  readonly settings: KernelSettings;
  /** Read by plugins for their own variables. */
  readonly env: Environment;
  readonly logging: Logging;
  /** Of this build, for metrics and traces. */
  readonly version: string;
  readonly clock?: Clock;
  /** Reject transactions that wait for anything but the database; for tests. */
  readonly guardTransactions?: boolean;
  /** Metrics of the process itself, which exist once per process; default true. */
  readonly processMetrics?: boolean;
}

/** What lies below the kernel and knows nothing of requests: the parts of the foundation, opened for one gateway. */
export type Infrastructure = Awaited<ReturnType<typeof openInfrastructure>>;

/**
 * Opens the database, the audit trail, Redis, the services and agents.d, and notes in `opened` how each is closed, in
 * reverse order. `closesBy` returns until when, in monotonic milliseconds, closing is as fast as it should be.
 */
export async function openInfrastructure(
  options: InfrastructureOptions,
  opened: AsyncDisposableStack,
  closesBy: () => number,
) {
  const { settings, env, logging, version, clock = systemClock, guardTransactions = false } = options;
  const { redisUrl } = settings;
  const { deployment, agentsDir } = settings.services;
  const ids = createIds(clock);
  const log = logging.logger;
  const metrics = createMetrics({ version, process: options.processMetrics ?? true });
  metrics.reading({
    kind: 'counter',
    name: 'svc_log_lines_lost_total',
    help: 'Log lines that were dropped because the output stood still or was gone.',
    read: () => logging.droppedLines(),
  });
  const traces = await createTracing({
    endpoint: settings.tracing?.endpoint,
    serviceName: settings.tracing?.serviceName ?? '',
    version,
    log,
  });
  opened.defer(() => traces.shutdown());

  const pool = { max: settings.databasePool };
  const applicationRole = settings.databaseRole;
  const database = await openDatabase({
    ...settings.database,
    applicationRole,
    pool,
    synchronous: settings.sqliteSynchronous,
    log,
    clock,
    guardTransactions,
  });
  opened.defer(() => database.close());
  await registerKernelTables(database);
  watchClocks(clock, database.clock, metrics, log);

  const directory = path.join(settings.dataDir, 'audit');
  const trail = createAuditTrail({ sink: createDatabaseSink(database), directory, clock, ids, log });
  opened.defer(() => trail.close(clock.monotonic() < closesBy() ? AUDIT_DRAIN : AUDIT_DRAIN_LATE));
  metrics.watchAudit(() => trail.stats());

  const redis =
    redisUrl === undefined ? undefined : await openRedis({ url: redisUrl, deployment, clock, ids, log });
  opened.defer(() => redis?.close());
  const contributed = { read: (_pointId: string): readonly unknown[] => [] };
  const { services, probes, close } = await openServices({
    settings: settings.services,
    env,
    database,
    trail,
    clock,
    ids,
    log,
    redis,
    redisUrl,
    postgresUrl: settings.database.driver === 'postgres' ? settings.database.url : undefined,
    registry: metrics.registry,
    contributions: (pointId) => contributed.read(pointId),
    logging,
  });
  opened.defer(close);
  const comparing = createPluginMetrics(metrics.registry, 'kernel');
  const replicas = compareReplicas({ database, settings, redis, ids, log, metrics: comparing });
  opened.defer(() => replicas.close());
  const resources = await openResources({ folder: agentsDir, clock, log });
  opened.defer(() => resources.close());
  watchResources(resources, metrics);
  return {
    clock,
    ids,
    log,
    logging,
    metrics,
    traces,
    database,
    trail,
    redis,
    services: { ...services, tracing: { startSpan: traces.startSpan } },
    resources,
    contributed,
    probes,
  };
}

/**
 * Credentials and signatures go by the clock of the machine: where it is wrong, they are refused on one replica, and
 * nothing else points at it.
 */
function watchClocks(own: Clock, shared: Clock, metrics: Metrics, log: Logger): void {
  const aheadSeconds = () => (own.now() - shared.now()) / 1000;
  metrics.reading({
    kind: 'gauge',
    name: 'svc_clock_ahead_seconds',
    help: 'Seconds by which the clock of this machine is ahead of that of the database; negative where it is behind.',
    read: aheadSeconds,
  });
  const seconds = Math.round(aheadSeconds());
  if (Math.abs(seconds) < CLOCK_OFF) return;
  log.warn(
    { seconds },
    'the clock of this machine is ahead of that of the database; behind where the number is negative',
  );
}

function watchResources(resources: Pick<Resources, 'report'>, metrics: Metrics): void {
  metrics.reading({
    kind: 'gauge',
    name: 'svc_resource_files_failed',
    help: 'Files of agents.d of which something is not valid, a kind for example; its last good version may be live.',
    read: () => failures(resources.report().files).length,
  });
  metrics.reading({
    kind: 'gauge',
    name: 'svc_resources_waiting',
    help: 'Documents of agents.d whose kind no plugin that runs registers.',
    read: () => waiting(resources.report().files),
  });
}
