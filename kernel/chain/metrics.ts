import type { CallSeries } from '../../foundation/observability/call-series.ts';
import type { Middleware } from './request-state.ts';

/** Counts and times the request under its route's pattern (specification 1, Metrics). */
export function metrics(http: CallSeries): Middleware {
  return function measureRequest(context, next) {
    const { state } = context;
    const method = context.req.method ?? 'GET';
    http.began();
    state.whenDone(({ status, duration }) => {
      http.ended({
        method,
        path: state.pattern,
        status,
        tenantId: state.tenant?.id,
        seconds: duration / 1000,
      });
    });
    return next();
  };
}
