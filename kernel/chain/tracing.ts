import type { Tracing } from '../../foundation/observability/tracing.ts';
import type { Middleware } from './request-state.ts';

/** Continues the caller's W3C trace, or starts one; the span ends with the response. */
export function tracing(traces: Tracing): Middleware {
  return function traceRequest(context, next) {
    const { state } = context;
    state.trace = traces.start(context.req.method ?? 'GET', context.req.headers);
    state.whenDone(({ status }) => {
      state.trace.end({
        status,
        route: state.pattern,
        requestId: state.requestId,
        tenantId: state.tenant?.id,
        errorCode: state.errorCode,
      });
    });
    return next();
  };
}
