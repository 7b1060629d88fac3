import path from 'node:path';
import { createAuditLogs } from '../foundation/audit/audit-logs.ts';
import { collectGarbage } from '../foundation/base/idle-memory.ts';
import { InFlight } from '../foundation/base/in-flight.ts';
import { assertOutsideTransaction, openDatabase } from '../foundation/data/database.ts';
import { createFailureLog } from '../foundation/errors/failure-log.ts';
import { BodyBudget } from '../foundation/http/body-budget.ts';
import { createRefuseConnection } from '../foundation/http/refusals.ts';
import { createIsTrustedProxy, createSourceAddress } from '../foundation/http/source-address.ts';
import { createRateLimits } from '../foundation/limits/rate-limits.ts';
import { createStreamLimit } from '../foundation/limits/stream-limit.ts';
import { createReadiness, type Probe } from '../foundation/observability/readiness.ts';
import type { Infrastructure, InfrastructureOptions } from '../foundation/open-infrastructure.ts';
import { createProtection } from '../foundation/protection/protection.ts';
import type { Deployment, PluginStatus } from './api/deployment.ts';
import type { KernelServices } from './api/services.ts';
import { createCredentialWatch } from './auth/credential-watch.ts';
import { type Authentication, openAuthentication } from './auth/open-authentication.ts';
import { createApplication } from './chain/application.ts';
import { RequestLimits } from './chain/rate-limit.ts';
import { createGrpc } from './grpc/grpc.ts';
import type { PluginHost } from './host/plugin-host.ts';
import { createPublication } from './host/publication.ts';
import { compileRoute } from './http/compiled-route.ts';
import { kernelRoutes } from './http/kernel-routes.ts';
import { Listeners } from './http/listeners.ts';
import { liveOpenApi } from './http/openapi.ts';
import { VERSION } from './version.ts';

/** Milliseconds that a database may take to answer readiness. */
const PING_TIMEOUT = 2_000;
/** Silence after which an event stream gets a comment line, and standstill after which its client is given up. */
const STREAM_TIMES = { heartbeat: 15_000, slowClient: 60_000 };

/** Services of the kernel that a test may replace. */
export type FakedServices = Partial<Pick<KernelServices, 'leases' | 'objects' | 'egress' | 'secrets'>>;

/** What the kernel is opened with. */
export interface KernelOptions extends Omit<InfrastructureOptions, 'version'> {
  /** The static token; see `ensureAcpToken`. */
  readonly acpToken: string | undefined;
  /** Instead of the kernel's own, for the plugins; for tests. */
  readonly services?: FakedServices;
}

/** Where a gateway stands between its start and its end. */
export interface Phase {
  isServing: boolean;
  /** Stays true at the end. */
  hasStarted: boolean;
  /** What is left of the drain time for plugins when the requests have ended. Milliseconds. */
  drainLeft: number;
  /** Until when everything is as it should be, once the drain is over. Milliseconds, monotonic. */
  closesBy: number;
}

/** What serves requests, with no plugin yet. */
export type Kernel = Awaited<ReturnType<typeof openKernel>>;

/** Opens credentials, the chain, and the places where plugins become visible. */
export async function openKernel(
  options: KernelOptions,
  infrastructure: Infrastructure,
  phase: Pick<Phase, 'isServing' | 'hasStarted'>,
  opened: AsyncDisposableStack,
) {
  const { settings, acpToken } = options;
  const { log, metrics, database, resources, services: parts } = infrastructure;
  const { jwt } = settings;
  const authentication = await openAuthentication({ ...infrastructure, ...parts, acpToken, jwt });
  opened.defer(() => authentication.close());
  const chain = chainServices(options, infrastructure, authentication);
  const bodies = new BodyBudget(settings.maxBodyBytes, collectGarbage());
  metrics.watchCalls({ bodyBytes: () => bodies.held, streams: () => chain.streams.open });
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
    withoutSecrets: infrastructure.logging.withoutSecrets,
    log,
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
  { settings, logging }: KernelOptions,
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
    isTrustedProxy: createIsTrustedProxy(settings.trustedProxies),
    streams: createStreamLimit(settings.maxStreamsPerUser),
    credentials: createCredentialWatch(authentication, tenants),
  };
}

/** What plugins get from the kernel. */
export function kernelServices(
  { settings, services: faked, guardTransactions = false }: Omit<KernelOptions, 'acpToken'>,
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
        synchronous: settings.sqliteSynchronous,
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
