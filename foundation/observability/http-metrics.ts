import { type CallSeries, type CallSeriesOptions, createCallSeries } from './call-series.ts';
import { methodLabel, pathLabel, statusLabel } from './metric-labels.ts';

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
