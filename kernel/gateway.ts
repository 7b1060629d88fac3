import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createAuditLogs } from '../foundation/audit/audit-logs.ts';
import { endsWithin, within } from '../foundation/base/deadline.ts';
import { collectGarbage } from '../foundation/base/idle-memory.ts';
import { InFlight } from '../foundation/base/in-flight.ts';
import type { CrashRecord } from '../foundation/code/crash-record.ts';
import { type GatewayFile, loadGatewayFile } from '../foundation/config/gateway-file.ts';
import { requireKnown } from '../foundation/config/unknown-plugins.ts';
import { assertOutsideTransaction, openDatabase } from '../foundation/data/database.ts';
import { createFailureLog } from '../foundation/errors/failure-log.ts';
import { BodyBudget } from '../foundation/http/body-budget.ts';
import { createRefuseConnection } from '../foundation/http/refusals.ts';
import { createSourceAddress } from '../foundation/http/source-address.ts';
import { createRateLimits } from '../foundation/limits/rate-limits.ts';
import { createStreamLimit } from '../foundation/limits/stream-limit.ts';
import { watchLoop } from '../foundation/observability/loop-watch.ts';
import { createPluginMetrics } from '../foundation/observability/plugin-metrics.ts';
import { createReadiness, type Probe } from '../foundation/observability/readiness.ts';
import {
  type Infrastructure,
  type InfrastructureOptions,
  openInfrastructure,
} from '../foundation/open-infrastructure.ts';
import { createProtection } from '../foundation/protection/protection.ts';
import type { Deployment, PluginStatus } from './api/deployment.ts';
import type { Plugin } from './api/plugin.ts';
import type { KernelServices } from './api/services.ts';
import { createCredentialWatch } from './auth/credential-watch.ts';
import { type Authentication, openAuthentication } from './auth/open-authentication.ts';
import { createApplication } from './chain/application.ts';
import { RequestLimits } from './chain/rate-limit.ts';
import { createGrpc } from './grpc/grpc.ts';
import { pluginRoutes, pluginStatus } from './host/admin-routes.ts';
import { gatewayAddress } from './host/gateway-address.ts';
import { createConfiguration } from './host/gateway-configuration.ts';
import { followPluginFolders } from './host/hot-plugins.ts';
import { jobRoutes } from './host/job-routes.ts';
import { withNeeded } from './host/needed-plugins.ts';
import { type Discovered, PluginFolders, pluginsOf, type Unloaded } from './host/plugin-folders.ts';
import { PluginHost } from './host/plugin-host.ts';
import { createPublication } from './host/publication.ts';
import { warnOfUnread } from './host/unread-contributions.ts';
import { compileRoute } from './http/compiled-route.ts';
import { kernelRoutes, readinessRoute } from './http/kernel-routes.ts';
import { Listeners } from './http/listeners.ts';
import { liveOpenApi } from './http/openapi.ts';
import { BUNDLED_PLUGINS, VERSION } from './version.ts';

/** Milliseconds that a database may take to answer readiness. */
const PING_TIMEOUT = 2_000;
/** Milliseconds after the drain within which plugins and services are closed where everything answers. */
const CLOSING = 6_000;
/** Silence after which an event stream gets a comment line, and standstill after which its client is given up. */
const STREAM_TIMES = { heartbeat: 15_000, slowClient: 60_000 };

/** Services of the kernel that a test may replace. */
export type FakedServices = Partial<Pick<KernelServices, 'leases' | 'objects' | 'egress' | 'secrets'>>;

/** What a gateway is started with. */
export interface GatewayOptions extends Omit<InfrastructureOptions, 'version'> {
  /** The static token; see `ensureAcpToken`. */
  readonly acpToken: string | undefined;
  /** Instead of the bundled plugins and those of `SVC_PLUGIN_DIRS`; for tests. */
  readonly plugins?: readonly Plugin[];
  /** Where the code of such a plugin lies, for the file and line of what it does wrong; for tests. */
  readonly codeOf?: (plugin: Plugin) => string | undefined;
  /** Folders of plugins, also in addition to `plugins`; for tests. */
  readonly pluginFolders?: readonly string[];
  /** Instead of the kernel's own, for the plugins; for tests. */
  readonly services?: FakedServices;
  /** Plugins that ended processes before this one. */
  readonly crashes?: CrashRecord;
  /** Milliseconds that a plugin's set-up may take; for tests. Default 30,000. */
  readonly setupTimeout?: number;
}

/** A running gateway. */
export interface Gateway {
  /** Where the API answers, with the real port. */
  readonly url: string;
  /** True when the API has this path now. */
  serves(path: string): boolean;
  /** Where gRPC answers, as `host:port` with the real port; `undefined` while no plugin has a service. */
  grpcAddress(): string | undefined;
  readonly services: KernelServices;
  readonly host: PluginHost;
  /**
   * Ends it: not ready, clients are asked to leave for `SVC_STOP_DELAY`, no new connections, what is in flight finishes
   * within `SVC_DRAIN_TIMEOUT`, the rest is aborted, plugins stop, audit is written. A second call waits for the first.
   */
  stop(): Promise<void>;
}

/** Where a gateway stands between its start and its end. */
interface Phase {
  isServing: boolean;
  /** Stays true at the end. */
  hasStarted: boolean;
  /** What is left of the drain time for plugins when the requests have ended. Milliseconds. */
  drainLeft: number;
  /** Until when everything is as it should be, once the drain is over. Milliseconds, monotonic. */
  closesBy: number;
}

/**
 * Starts a gateway: the one place where the parts of the kernel are put together.
 *
 * @throws the problem that prevents the start, worded for the operator; what was opened until then is closed.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const phase: Phase = {
    isServing: false,
    hasStarted: false,
    drainLeft: 0,
    closesBy: Number.POSITIVE_INFINITY,
  };
  // Closed in reverse order, at the end or when the start fails.
  await using opened = new AsyncDisposableStack();
  const file = await loadGatewayFile(options.settings.configFile);
  // Plugins are imported while the servers that the gateway needs are asked for connections.
  const code = findPlugins(options, file);
  code.found.catch(() => {});
  const infrastructure = await openInfrastructure(
    { ...options, version: VERSION },
    opened,
    () => phase.closesBy,
  );
  const kernel = await openKernel(options, infrastructure, phase, opened);
  const host = openHost(options, kernel, { folders: code.folders, found: await code.found, file });
  const serving = await serve(options, kernel, host, file, phase, opened);
  const closing = opened.move();
  let stopping: Promise<void> | undefined;
  return {
    ...serving,
    services: kernel.services,
    host: host.plugins,
    stop: () => {
      stopping ??= stop(options, kernel, host, phase, closing);
      return stopping;
    },
  };
}

/** Where plugins lie that a test gives as values. */
const GIVEN = 'the test';

/** The plugins of the folders, those that shall not run excepted; a test's plugins come as values. */
function findPlugins(
  { settings, plugins, codeOf, pluginFolders, crashes }: GatewayOptions,
  file: GatewayFile,
) {
  const isGiven = plugins !== undefined || pluginFolders !== undefined;
  const folders = isGiven ? new PluginFolders(pluginFolders ?? [], settings) : PluginFolders.of(settings);
  const given = (plugins ?? []).map((plugin) => ({
    name: plugin.name,
    folder: codeOf?.(plugin) ?? GIVEN,
    plugin,
  }));
  const loading = folders.loadAll(file, settings.plugins, crashes?.leftOut());
  const found = loading.then((loaded) => {
    const all = [...given, ...loaded];
    requireKnown(settings.plugins, all);
    return all;
  });
  return { folders, found };
}

type Kernel = Awaited<ReturnType<typeof openKernel>>;

/** What serves requests, with no plugin yet: credentials, the chain, and the places where plugins become visible. */
async function openKernel(
  options: GatewayOptions,
  infrastructure: Infrastructure,
  phase: Phase,
  opened: AsyncDisposableStack,
) {
  const { settings, acpToken } = options;
  const { log, metrics, database, resources, services: parts } = infrastructure;
  const { jwt } = settings;
  const authentication = await openAuthentication({ ...infrastructure, ...parts, acpToken, jwt });
  opened.defer(() => authentication.close());
  const chain = chainServices(options, infrastructure, authentication);
  const bodies = new BodyBudget(settings.maxBodyBytes, collectGarbage());
  metrics.reading({
    name: 'svc_http_body_bytes_in_flight',
    help: 'Bytes of large request bodies that are held for calls under way.',
    kind: 'gauge',
    read: () => bodies.held,
  });
  metrics.reading({
    name: 'svc_streams_open',
    help: 'Event streams and streaming calls of gRPC that are open.',
    kind: 'gauge',
    read: () => chain.streams.open,
  });
  const stages = () => publication.stages();
  const handler = createApplication({
    ...chain,
    bodies,
    hasStarted: () => phase.hasStarted,
    stages,
    isStrict: !settings.production,
    http: metrics.http,
    origins: settings.allowedOrigins === '*' ? ['*'] : settings.allowedOrigins,
    times: STREAM_TIMES,
  });
  const { address, tls, maxMessage } = settings.services.grpc;
  const grpc = createGrpc({
    address: { ...address, variable: 'SVC_GRPC_ADDR' },
    chain: { ...chain, stages, grpc: metrics.grpc },
    isServing: () => phase.isServing,
    tls,
    maxMessage,
  });
  const degraded: { read: PluginHost['slots']['degraded'] } = { read: () => [] };
  const readiness = createReadiness({
    isServing: () => phase.isServing,
    pingDatabase: () => database.ping(PING_TIMEOUT),
    probes: (): readonly Probe[] => [...infrastructure.probes, ...publication.probes()],
    degraded: () => degraded.read(),
  });
  const everywhere = kernelRoutes({
    readiness,
    metrics: () => metrics.text(),
    metricsType: metrics.contentType,
  }).map((route) => compileRoute(route, 'kernel', new InFlight()));
  const refuse = createRefuseConnection({ ...infrastructure, http: metrics.http });
  const listeners = new Listeners({ handler, everywhere, refuse, log });
  const publication = createPublication({
    listeners,
    grpc,
    resources,
    authentication: authentication.chain,
    onePort: settings.onePort,
  });
  infrastructure.contributed.read = publication.contributions;
  const states: { read: () => readonly PluginStatus[] } = { read: () => [] };
  const startedAt = infrastructure.clock.monotonic();
  const deployment: Deployment = {
    databaseFamily: options.settings.database.driver,
    uptime: () => infrastructure.clock.monotonic() - startedAt,
    plugins: () => states.read(),
    readiness,
    metrics: { text: () => metrics.text(), contentType: metrics.contentType },
    followLog: options.logging.follow,
  };
  const services = kernelServices(options, infrastructure, authentication, listeners, deployment);
  return {
    ...infrastructure,
    ...parts,
    services,
    listeners,
    grpc,
    publication,
    degraded,
    states,
    readiness,
  };
}

/** What the chain needs, of HTTP and of gRPC. */
function chainServices(
  { settings, logging }: GatewayOptions,
  infrastructure: Infrastructure,
  { chain: authentication, tenants }: Authentication,
) {
  const { clock, log, metrics, redis } = infrastructure;
  const limits = new RequestLimits({
    windows: createRateLimits({ redis, deployment: settings.services.deployment, clock }),
    settings: settings.rateLimits,
    rejected: (tenantId, window) => metrics.rateLimitRejected(tenantId, window),
  });
  return {
    ...infrastructure,
    authentication,
    anonymousAllowed: settings.allowAnonymous,
    tenants,
    limits,
    access: logging.access,
    logFailure: createFailureLog(log, clock),
    sourceAddress: createSourceAddress(settings.trustedProxies),
    streams: createStreamLimit(settings.maxStreamsPerUser),
    credentials: createCredentialWatch(authentication, tenants),
  };
}

/** What plugins get from the kernel. */
export function kernelServices(
  { settings, services: faked, guardTransactions = false }: Omit<GatewayOptions, 'acpToken'>,
  { clock, ids, log, database, resources, services, trail }: Infrastructure,
  { chain, tenants, apiKeys }: Authentication,
  listeners: Pick<Listeners, 'routes'>,
  deployment: Deployment,
): KernelServices {
  const audit = createAuditLogs({ ...services, ...faked, database, trail, clock, ids });
  return {
    ...services,
    clock,
    ids,
    database,
    tenants,
    apiKeys,
    audit,
    protection: createProtection({ ...services, ...faked, clock, ids, log, database, audit }),
    resources,
    deployment,
    openSqlite: (file) =>
      openDatabase({
        driver: 'sqlite',
        log,
        clock,
        guardTransactions,
        ...(file === undefined ? {} : { file }),
      }),
    dataDir: path.resolve(settings.dataDir),
    openapi: liveOpenApi(() => listeners.routes(), chain.kinds, VERSION),
    assertOutsideTransaction,
    ...faked,
    version: VERSION,
    production: settings.production,
  };
}

/** The plugins that were found, and their code. */
interface Code {
  readonly folders: PluginFolders;
  readonly found: readonly (Discovered | Unloaded)[];
  readonly file: GatewayFile;
}

type Host = ReturnType<typeof openHost>;

/** The plugin host, with nothing started yet. */
function openHost(
  { settings, env, setupTimeout, crashes }: GatewayOptions,
  kernel: Kernel,
  { folders, found, file }: Code,
) {
  const { log, metrics } = kernel;
  const loaded = pluginsOf(found);
  const only = withNeeded(settings.plugins ?? [], loaded).names;
  const address = gatewayAddress({ settings, plugins: loaded, file, only, env });
  const plugins = new PluginHost(found, {
    ...kernel,
    env,
    address: address.own,
    only,
    isBundled: (folder) => folder === GIVEN || folder.startsWith(BUNDLED_PLUGINS),
    ...(crashes && { leftOut: crashes.leftOut() }),
    drainTimeout: settings.drainTimeout,
    ...(setupTimeout === undefined ? {} : { setupTimeout }),
    metricsFor: (plugin) => createPluginMetrics(metrics.registry, plugin),
  });
  kernel.degraded.read = () => plugins.slots.degraded();
  kernel.states.read = () => plugins.slots.all.map((slot) => pluginStatus(slot, plugins.desired, VERSION));
  const forgive = (name: string) => crashes?.forgive(name);
  const configuration = createConfiguration(settings.configFile, plugins, { folders, forgive, log });
  metrics.watchPlugins({
    degraded: () => plugins.slots.degraded().map(({ name }) => name),
    generations: () => folders.generations(),
  });
  return { plugins, configuration, folders, address, following: new AbortController() };
}

/** Opens the gateway's address, starts the plugins and follows their folders: from here on it is ready. */
async function serve(
  { settings }: GatewayOptions,
  { listeners, grpc, publication, jobs, readiness, log }: Kernel,
  { plugins, configuration, folders, address, following }: Host,
  file: GatewayFile,
  phase: Phase,
  opened: AsyncDisposableStack,
): Promise<Pick<Gateway, 'url' | 'serves' | 'grpcAddress'>> {
  opened.defer(async () => {
    following.abort();
    await configuration.close();
    await plugins.stop(phase.drainLeft);
    listeners.destroy();
    // Calls that were aborted just now have their status on the way, behind messages that the client still takes.
    await endsWithin(250, grpc.close());
    grpc.destroy();
    await listeners.close();
  });
  const own = [
    readinessRoute(readiness),
    ...pluginRoutes(plugins, configuration, VERSION),
    ...jobRoutes(jobs.administration),
  ];
  if (address.own !== undefined) {
    await listeners.open(address.own, address.owner, true);
    await publication.addKernelRoutes(
      address.own,
      own.map((route) => compileRoute(route, 'kernel', new InFlight())),
    );
  }
  await configuration.start(file);
  warnOfUnread(plugins.slots.all, log);
  const { signal } = following;
  watchLoop(log, () => plugins.slots.busy(), signal);
  followPluginFolders({ folders, host: plugins, watchCode: settings.watchPlugins, log, signal });
  phase.isServing = true;
  phase.hasStarted = true;
  return {
    url: listeners.url(address.main),
    serves: (path) => listeners.routes().some(({ pattern }) => pattern === path),
    grpcAddress: () => grpc.address,
  };
}

/** See `Gateway.stop`. */
async function stop(
  { settings }: GatewayOptions,
  { listeners, grpc, clock, log }: Kernel,
  { plugins, configuration, following }: Host,
  phase: Phase,
  closing: AsyncDisposableStack,
): Promise<void> {
  phase.isServing = false;
  listeners.leave();
  following.abort();
  void configuration.close();
  if (settings.stopDelay > 0) await pause(settings.stopDelay);
  const until = clock.monotonic() + settings.drainTimeout;
  // Background work ends in parallel with the requests, so that a long stream does not use up its time. `plugins.stop`
  // waits for what still runs when the requests have ended, in the rest of that time and before any plugin ends.
  plugins.drain(settings.drainTimeout);
  const ended = Promise.all([listeners.close(), grpc.close()]);
  await within(settings.drainTimeout, 'the requests in flight', ended).catch((err: unknown) =>
    log.warn({ err }, 'what is still in flight is aborted'),
  );
  phase.drainLeft = Math.max(0, until - clock.monotonic());
  phase.closesBy = clock.monotonic() + phase.drainLeft + CLOSING;
  await closing.disposeAsync();
}
