import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createAuditQuery } from '../foundation/audit/audit-query.ts';
import { createAuditTrail } from '../foundation/audit/audit-trail.ts';
import { createDatabaseSink } from '../foundation/audit/database-sink.ts';
import { type Clock, systemClock } from '../foundation/base/clock.ts';
import { within } from '../foundation/base/deadline.ts';
import { createIds } from '../foundation/base/ids.ts';
import type { Environment } from '../foundation/config/environment.ts';
import type { KernelSettings } from '../foundation/config/kernel-settings.ts';
import { assertOutsideTransaction, openDatabase } from '../foundation/data/database.ts';
import type { Logging } from '../foundation/observability/logger.ts';
import { createMetrics } from '../foundation/observability/metrics.ts';
import { createPluginMetrics } from '../foundation/observability/plugin-metrics.ts';
import { createTracing } from '../foundation/observability/tracing.ts';
import { openServices } from '../foundation/open-services.ts';
import { openRedis } from '../foundation/redis/open-redis.ts';
import { openResources } from '../foundation/resources/open-resources.ts';
import { registerKernelTables } from '../foundation/tables/register-tables.ts';
import type { Plugin } from './api/plugin.ts';
import type { KernelServices } from './api/services.ts';
import { openAuthentication } from './auth/open-authentication.ts';
import { RequestLimits } from './chain/rate-limit.ts';
import { Grpc } from './grpc/grpc.ts';
import { pluginRoutes } from './host/admin-routes.ts';
import { GatewayConfiguration } from './host/gateway-configuration.ts';
import { followPluginFolders } from './host/hot-plugins.ts';
import { InFlight } from './host/in-flight.ts';
import type { Discovered } from './host/load-plugin.ts';
import { PluginConfiguration } from './host/plugin-configuration.ts';
import { PluginFolders } from './host/plugin-folders.ts';
import { PluginHost } from './host/plugin-host.ts';
import { Publication } from './host/publication.ts';
import { createApplication } from './http/application.ts';
import { compileRoute } from './http/compiled-route.ts';
import { kernelRoutes } from './http/kernel-routes.ts';
import { Listeners } from './http/listeners.ts';
import { openApiDocument } from './http/openapi.ts';
import { createSourceAddress } from './http/source-address.ts';
import { createRateLimits } from './limits/rate-limits.ts';
import { createConcurrency, createStreamLimit } from './limits/stream-limit.ts';
import { BUNDLED_PLUGINS } from './paths.ts';
import { VERSION } from './version.ts';

/** Milliseconds that a database may take to answer readiness. */
const PING_TIMEOUT = 2_000;
/** Milliseconds that the last audit records get to reach the database at the end; those that do not are in the journal. */
const AUDIT_DRAIN = 5_000;
/** The same where closing everything else has taken long: then the database does not answer anyway. */
const AUDIT_DRAIN_LATE = 500;
/** Milliseconds after the drain within which plugins and services are closed where everything answers. */
const CLOSING = 6_000;
/** Silence after which an event stream gets a comment line, and standstill after which its client is given up. */
const STREAM_TIMES = { heartbeat: 15_000, slowClient: 60_000 };

/** Services of the kernel that a test may play itself. */
export type FakedServices = Partial<
  Pick<KernelServices, 'locks' | 'permits' | 'objects' | 'egress' | 'secrets'>
>;

/** What a gateway is started with. */
export interface GatewayOptions {
  readonly settings: KernelSettings;
  /** Read by plugins for their own variables. */
  readonly env: Environment;
  readonly logging: Logging;
  /** The static token; see `ensureAcpToken`. */
  readonly acpToken: string | undefined;
  /** Instead of the bundled plugins and those of `SVC_PLUGIN_DIRS`; for tests. */
  readonly plugins?: readonly Plugin[];
  /** Folders of plugins, also beside `plugins`; for tests. */
  readonly pluginFolders?: readonly string[];
  readonly clock?: Clock;
  /** Instead of the kernel's own, for the plugins; for tests. */
  readonly services?: FakedServices;
  /** Milliseconds that a plugin's set-up may take; for tests. Default 30,000. */
  readonly setupTimeout?: number;
  /** Reject transactions that wait for anything but the database; for tests. */
  readonly guardTransactions?: boolean;
  /** Metrics of the process itself, which exist once per process; default true. */
  readonly processMetrics?: boolean;
}

/** A running gateway. */
export interface Gateway {
  /** Where the API answers, with the real port. */
  readonly url: string;
  /** Where gRPC answers, as `host:port` with the real port; `undefined` while no plugin has a service. */
  grpcAddress(): string | undefined;
  readonly services: KernelServices;
  readonly host: PluginHost;
  /**
   * Ends it: not ready, clients are asked to leave for `SVC_STOP_DELAY`, no new connections, what is in flight finishes within
   * `SVC_DRAIN_TIMEOUT`, the rest is aborted, plugins stop, audit is written. A second call waits for the first.
   */
  stop(): Promise<void>;
}

/**
 * Starts a gateway: the one place where the parts of the kernel are put together.
 *
 * @throws whatever stands in the way, said for the operator; what was opened until then is closed.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { settings, env, logging, acpToken } = options;
  const clock = options.clock ?? systemClock;
  const ids = createIds(clock);
  const log = logging.logger;
  // Closed in reverse order, at the end or when the start fails.
  await using opened = new AsyncDisposableStack();

  const metrics = createMetrics({ version: VERSION, process: options.processMetrics ?? true });
  const traces = await createTracing({
    endpoint: settings.tracing?.endpoint,
    insecure: false,
    serviceName: settings.tracing?.serviceName ?? '',
    version: VERSION,
    log,
  });
  opened.defer(() => traces.shutdown());

  const database = await openDatabase({
    ...settings.database,
    applicationRole: settings.databaseRole,
    pool: { max: settings.databasePool },
    log,
    clock,
    guardTransactions: options.guardTransactions ?? false,
  });
  opened.defer(() => database.close());
  await registerKernelTables(database);

  const trail = createAuditTrail({
    sink: createDatabaseSink(database),
    directory: path.join(settings.dataDir, 'audit'),
    clock,
    ids,
    log,
  });
  /** Until when everything is as it should be, once the drain is over. Milliseconds, monotonic. */
  let closesBy = Number.POSITIVE_INFINITY;
  opened.defer(() => trail.close(clock.monotonic() < closesBy ? AUDIT_DRAIN : AUDIT_DRAIN_LATE));
  metrics.watchAudit({ queued: () => trail.stats().queued, spooled: () => trail.stats().spooledBytes });

  const { redisUrl } = settings;
  const { deployment } = settings.services;
  const redis =
    redisUrl === undefined ? undefined : await openRedis({ url: redisUrl, deployment, clock, ids, log });
  opened.defer(() => redis?.close());
  const limits = new RequestLimits({
    windows: createRateLimits({ redis, deployment, clock }),
    settings: settings.rateLimits,
    rejected: (tenantId, window) => metrics.rateLimitRejected(tenantId, window),
  });

  const parts = await openServices({
    settings: settings.services,
    env,
    ...{ database, trail, clock, ids, log },
    redis,
    redisUrl,
    postgresUrl: settings.database.driver === 'postgres' ? settings.database.url : undefined,
    registry: metrics.registry,
    onSecret: logging.hide,
  });
  opened.use(parts);
  const resources = await openResources({ folder: settings.services.agentsDir, clock, log });
  opened.defer(() => resources.close());

  const authentication = await openAuthentication({
    ...{ database, acpToken, clock, ids, log },
    jwt: settings.jwt,
    events: parts.events,
  });
  opened.defer(() => authentication.close());

  const services: KernelServices = {
    clock,
    ids,
    database,
    tenants: authentication.tenants,
    apiKeys: authentication.apiKeys,
    audit: createAuditQuery(database),
    ...{ locks: parts.locks, permits: parts.permits, queue: parts.queue, objects: parts.objects },
    ...{ egress: parts.egress, secrets: parts.secrets, events: parts.events, resources },
    openSqlite: (file) =>
      openDatabase({
        ...{ driver: 'sqlite', log, clock, guardTransactions: options.guardTransactions ?? false },
        ...(file === undefined ? {} : { file }),
      }),
    openapi: () => openApiDocument(listeners.routes(), { title: 'Agent gateway', version: VERSION }),
    assertOutsideTransaction,
    ...options.services,
    version: VERSION,
    production: settings.production,
  };

  let hasStarted = false;
  let isServing = false;
  const chain = {
    authentication: authentication.chain,
    anonymousAllowed: settings.allowAnonymous,
    tenants: authentication.tenants,
    trail,
    limits,
    traces,
    access: logging.access,
    log,
    clock,
    ids,
    sourceAddress: createSourceAddress(settings.trustedProxies),
    database,
    streams: createStreamLimit(createConcurrency(), settings.maxStreamsPerUser),
  };
  const handler = createApplication({
    ...chain,
    hasStarted: () => hasStarted,
    http: metrics.http,
    origins: settings.allowedOrigins === '*' ? ['*'] : settings.allowedOrigins,
    times: STREAM_TIMES,
  });
  const { grpc: rpc } = settings.services;
  const grpc = new Grpc({
    address: { ...rpc.address, variable: 'SVC_GRPC_ADDR' },
    chain: { ...chain, grpc: metrics.grpc },
    isServing: () => isServing,
    tls: rpc.tls,
    maxMessage: rpc.maxMessage,
  });
  const health = kernelRoutes({
    isServing: () => isServing,
    pingDatabase: () => database.ping(PING_TIMEOUT),
    probes: () => publication.probes(),
    degraded: () => host.degraded(),
    metrics: () => metrics.text(),
    metricsType: metrics.contentType,
  });
  const everywhere = health.map((route) => compileRoute(route, 'kernel', new InFlight()));
  const listeners = new Listeners({ handler, everywhere, log });
  const publication = new Publication({
    ...{ listeners, grpc, resources },
    authentication: authentication.chain,
  });
  const address = { ...settings.listen, variable: 'SAAS_API_PORT' };
  // A test's plugins come as values; of folders there are none then.
  const folders = new PluginFolders(
    options.pluginFolders ?? (options.plugins === undefined ? [BUNDLED_PLUGINS, ...settings.pluginDirs] : []),
  );
  const host = new PluginHost([...given(options.plugins), ...(await folders.loadAll())], {
    services,
    ...{ events: parts.events, queues: parts.queue, resources },
    publication,
    configuration: new PluginConfiguration(env),
    address,
    only: settings.plugins ?? [],
    drainTimeout: settings.drainTimeout,
    ...(options.setupTimeout === undefined ? {} : { setupTimeout: options.setupTimeout }),
    log,
    clock,
    metricsFor: (plugin) => createPluginMetrics(metrics.registry, plugin),
  });
  const configuration = new GatewayConfiguration(settings.configFile, host, folders, log);
  metrics.reading({
    name: 'svc_plugin_code_generations',
    help: 'Generations of plugin code in memory; Node keeps each until the process ends.',
    kind: 'gauge',
    read: () => [...folders.generations().values()].reduce((sum, count) => sum + count, 0),
  });
  const following = new AbortController();
  /** What is left of the drain time for plugins when the requests have ended. */
  let drainLeft = 0;
  opened.defer(async () => {
    following.abort();
    await configuration.close();
    await host.stop(drainLeft);
    listeners.destroy();
    grpc.destroy();
    await listeners.close();
  });
  await listeners.open(address, 'kernel');
  await publication.addKernelRoutes(
    address,
    pluginRoutes(host, configuration, VERSION).map((route) => compileRoute(route, 'kernel', new InFlight())),
  );
  await configuration.start();
  followPluginFolders({
    folders,
    host,
    watchCode: settings.watchPlugins,
    log,
    signal: following.signal,
  });
  isServing = true;
  hasStarted = true;

  const closing = opened.move();
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    isServing = false;
    listeners.leave();
    following.abort();
    void configuration.close();
    if (settings.stopDelay > 0) await pause(settings.stopDelay);
    const until = clock.monotonic() + settings.drainTimeout;
    // Work in the background ends beside the requests: a stream that lasts does not take its time. What of it is left when they have
    // ended is waited for by `host.stop`, in the rest of that time and before any plugin ends.
    host.drain(settings.drainTimeout);
    await within(
      settings.drainTimeout,
      'the requests in flight',
      Promise.all([listeners.close(), grpc.close()]),
    ).catch((err: unknown) => log.warn({ err }, 'what is still in flight is aborted'));
    drainLeft = Math.max(0, until - clock.monotonic());
    closesBy = clock.monotonic() + drainLeft + CLOSING;
    await closing.disposeAsync();
  };
  return {
    url: listeners.url(address),
    grpcAddress: () => grpc.address,
    services,
    host,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function given(plugins: readonly Plugin[] = []): readonly Discovered[] {
  return plugins.map((plugin) => ({ name: plugin.name, folder: 'the test', plugin }));
}
