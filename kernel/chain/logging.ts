import type { Stage } from '../http/stage.ts';
import type { Logging } from '../observability/logger.ts';

/** One line a request, when its response is out: who, what, status, time. Never a header, a query or a body. */
export function logging(access: Logging['access']): Stage {
  return function logRequest(context, next) {
    const { state } = context;
    state.whenDone(({ status, duration }) => {
      const quiet = state.match.kind === 'route' && state.match.route.rateLimit === 'none';
      access(status >= 500 ? 'warn' : quiet ? 'debug' : 'info', {
        method: context.req.method,
        path: state.path,
        status,
        ms: Math.round(duration * 10) / 10,
        requestId: state.requestId,
        tenantId: state.tenant?.id,
        identity: state.identity.id || undefined,
        traceId: state.trace.traceId,
        code: state.errorCode,
      });
    });
    return next();
  };
}
