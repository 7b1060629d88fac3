import { grpcStatusName } from '../base/grpc-status.ts';
import {
  type CallSeries,
  type CallSeriesOptions,
  createCallSeries,
  type TenantLabels,
} from './call-series.ts';
import {
  ANONYMOUS_TENANT,
  methodLabel,
  OTHER,
  pathLabel,
  statusLabel,
  tenantLabel,
} from './metric-registry.ts';

/** `svc_http_requests_total{method,path,status,tenant_id}` and its companions. */
export function createHttpMetrics(options: CallSeriesOptions): CallSeries {
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

/**
 * `svc_grpc_requests_total{method,code,tenant_id}` and its companions. The path of a call is its method
 * (`svc.agent.v1.AgentService/GetAgent`, or `unmatched`), and `code` the status's name (`NOT_FOUND`).
 */
export function createGrpcMetrics(options: CallSeriesOptions): CallSeries {
  return createCallSeries(options, {
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
