import { grpcStatusName } from '../base/grpc-status.ts';
import { type CallSeries, type CallSeriesOptions, createCallSeries } from './call-series.ts';

/** Measures the gRPC calls. */
export interface GrpcMetrics {
  /** A call is being served. */
  began(): void;
  /** Its status was sent, or its client has left. */
  ended(call: EndedRpc): void;
}

/** What is counted of a gRPC call. */
export interface EndedRpc {
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
