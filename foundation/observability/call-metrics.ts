import { grpcStatusName } from '../base/grpc-status.ts';
import { type CallSeries, type CallSeriesOptions, createCallSeries } from './call-series.ts';
import {
  ANONYMOUS_TENANT,
  methodLabel,
  OTHER,
  pathLabel,
  statusLabel,
  tenantLabel,
} from './metric-registry.ts';

/** Measures the HTTP requests (specification 1, Metrics). */
export type HttpMetrics = CallSeries;

/** `svc_http_requests_total{method,path,status,tenant_id}` and its companions. */
export function createHttpMetrics(options: CallSeriesOptions): HttpMetrics {
  return createCallSeries(options, {
    prefix: 'svc_http',
    title: 'HTTP',
    pathLabel,
    methodLabel,
    statusLabel,
    labels: (path, tenantId, method) => ({ method, path, tenant_id: tenantId }),
    withStatus: ({ method, path, tenant_id }, status) => ({
      method: method!,
      path: path!,
      status,
      tenant_id: tenant_id!,
    }),
  });
}

/** Measures the gRPC calls. */
export interface GrpcMetrics {
  /** A call is being served. */
  began(): void;
  /** Its status was sent, or its client has left. */
  ended(call: EndedRpc): void;
}

/** What is counted of a gRPC call. */
interface EndedRpc {
  /** `svc.agent.v1.AgentService/GetAgent`, or `unmatched`: never a name that a client made up. */
  readonly method: string;
  /** gRPC status code. */
  readonly code: number;
  /** `undefined` or empty without a valid credential. */
  readonly tenantId: string | undefined;
  readonly seconds: number;
}

/** `svc_grpc_requests_total{method,code,tenant_id}` and its companions; `code` is the status's name (`NOT_FOUND`). */
export function createGrpcMetrics(options: CallSeriesOptions): GrpcMetrics {
  const series: CallSeries = createCallSeries(options, {
    prefix: 'svc_grpc',
    title: 'gRPC',
    pathLabel: (path) => path,
    methodLabel: (method) => method,
    statusLabel: (code) => code,
    labels: (path, tenantId) => ({ method: path, tenant_id: tenantId }),
    withStatus: ({ method, tenant_id }, code) => ({
      method: method!,
      code: grpcStatusName(code),
      tenant_id: tenant_id!,
    }),
  });
  return {
    began: series.began,
    ended: ({ method, code, tenantId, seconds }) =>
      series.ended({ method: 'POST', path: method, status: code, tenantId, seconds }),
  };
}

/**
 * Decides which tenants get series of their own: the first ones seen, up to a bound; later ones share the label
 * `other`. A series is kept by every scraper for weeks, so an unbounded label would outgrow the monitoring first.
 */
export function createTenantLabels(limit: number, onOverflow: () => void): TenantLabels {
  const known = new Set<string>([ANONYMOUS_TENANT]);
  return (tenantId) => {
    const label = tenantLabel(tenantId);
    if (known.has(label)) return label;
    if (known.size > limit) {
      onOverflow();
      return OTHER;
    }
    known.add(label);
    return label;
  };
}

/** The label for a tenant, now and until the process ends. */
export type TenantLabels = (tenantId: string | undefined) => string;
