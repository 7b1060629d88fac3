import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import { HTTP_STATUS } from '../../foundation/errors/status.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { respondError } from '../http/respond.ts';
import type { CallState } from './call-state.ts';
import type { Middleware } from './request-state.ts';

/** Turns whatever a later stage threw into an answer in the route's dialect; an unexpected error is logged in full. */
export function errors(log: Logger): Middleware {
  return async function answerErrors(context, next) {
    try {
      await next();
    } catch (thrown) {
      const error = context.state.errorOf(thrown);
      logFailure(log, context.state, error);
      respondError(context, error);
    }
  };
}

/** Logs a failure of the gateway's own with its cause; callers' mistakes are no failures. */
export function logFailure(log: Logger, state: CallState, error: GatewayError): void {
  if (HTTP_STATUS[error.kind] < 500 || state.isAborted) return;
  // Without a cause it is a bound that holds: a tenant at its share must not fill the log.
  if (error.code === KernelErrors.overloaded.definition.code && error.cause === undefined) return;
  const { owner: plugin, pattern: route, requestId } = state;
  log.error({ err: error.cause ?? error, code: error.code, plugin, route, requestId }, error.detail);
}
