import type { AuditTrail } from '../../foundation/audit/audit-trail.ts';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import type { LogFailure } from '../../foundation/errors/failure-log.ts';
import type { AddressedRequest } from '../../foundation/http/source-address.ts';
import type { CallSeries } from '../../foundation/observability/call-series.ts';
import type { Logging } from '../../foundation/observability/logger.ts';
import type { Tracing } from '../../foundation/observability/tracing.ts';
import type { AuthenticationChain } from '../auth/chain.ts';
import type { RouteTable } from '../http/route-table.ts';
import type { Tenants } from '../tenancy/tenants.ts';
import { audit } from './audit.ts';
import { auth, createIdentify } from './auth.ts';
import { cors } from './cors.ts';
import { enter } from './enter.ts';
import { errors } from './errors.ts';
import { type HandlerServices, handler } from './handler.ts';
import { logging } from './logging.ts';
import { metrics } from './metrics.ts';
import { type RequestLimits, rateLimit } from './rate-limit.ts';
import { createAuthorize, rbac } from './rbac.ts';
import { requestId } from './request-id.ts';
import type { Middleware } from './request-state.ts';
import { type PluginStage, stages } from './stages.ts';
import { createBindTenant, tenant } from './tenant.ts';
import { tracing } from './tracing.ts';

/** Everything that the stages need. */
export interface ChainServices extends HandlerServices {
  readonly authentication: AuthenticationChain;
  readonly anonymousAllowed: boolean | undefined;
  readonly tenants: Tenants;
  readonly trail: AuditTrail;
  readonly limits: RequestLimits;
  readonly traces: Tracing;
  readonly http: CallSeries;
  readonly origins: readonly string[];
  readonly logFailure: LogFailure;
  readonly access: Logging['access'];
  readonly clock: Clock;
  readonly ids: Ids;
  sourceAddress(request: AddressedRequest): string;
  isTrustedProxy(socket: AddressedRequest['socket']): boolean;
  /** False until all plugins had their chance to come. */
  hasStarted(): boolean;
  /** Those of plugins, in order. */
  stages(): readonly PluginStage[];
}

/**
 * The way of a request, in the specification's order: Tracing, Metrics, RequestID, Auth, Tenant, Logging, Audit, RBAC,
 * RateLimit, Handler. Before them the route is found, since all of them ask for it; errors become answers, and CORS is
 * settled, as soon as the request has its id. Plugins' stages are asked before anything is known, and when admitted.
 */
export function chain(table: () => RouteTable, services: ChainServices): readonly Middleware[] {
  const { clock, ids, limits, anonymousAllowed } = services;
  return [
    enter(table, clock, services.sourceAddress, services.hasStarted),
    tracing(services.traces),
    metrics(services.http),
    requestId(ids),
    errors(services.logFailure, services.hasStarted),
    cors(services.origins),
    stages(services.stages, 'before'),
    auth(createIdentify(services.authentication, anonymousAllowed), services.bodies),
    tenant(createBindTenant(services.tenants)),
    logging(services.access),
    audit(services.trail, ids, clock),
    rbac(createAuthorize(anonymousAllowed, limits)),
    stages(services.stages, 'admitted'),
    rateLimit(limits),
    handler(services),
  ];
}
