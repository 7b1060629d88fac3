import type { Logging } from '../../foundation/observability/logger.ts';
import type { CallState, Outcome } from './call-state.ts';
import type { Middleware } from './request-state.ts';

/** What the line contains in addition to caller and time. */
export interface LoggedSubject {
  /** HTTP method, or `GRPC`. */
  readonly method: string;
  /** As the client sent it, without the query. */
  readonly path: string;
  /** Health and metrics, asked every few seconds: that a replica is not ready is an answer, and no error of theirs. */
  readonly quiet: boolean;
}

/** Writes the line of a call that is over: who, what, status, time. Never a header, a query or a body. */
export function logCall(
  access: Logging['access'],
  state: CallState,
  subject: LoggedSubject,
  { status, duration }: Outcome,
): void {
  const isQuiet = subject.quiet && (status < 500 || state.errorCode === undefined);
  access(isQuiet ? 'debug' : status >= 500 ? 'warn' : 'info', {
    method: subject.method,
    path: subject.path,
    status,
    ms: Math.round(duration * 10) / 10,
    requestId: state.requestId,
    tenantId: state.tenant?.id,
    identity: state.identity.id || undefined,
    traceId: state.trace.traceId,
    code: state.errorCode,
    refused: state.failure?.reason ?? state.failure?.failure,
  });
}

/** One line a request, when its response is out. */
export function logging(access: Logging['access']): Middleware {
  return function logRequest(context, next) {
    const { state } = context;
    state.whenDone((outcome) => {
      const quiet = state.match.kind === 'route' && state.match.route.rateLimit === 'none';
      logCall(access, state, { method: context.req.method ?? 'GET', path: state.path, quiet }, outcome);
    });
    return next();
  };
}
