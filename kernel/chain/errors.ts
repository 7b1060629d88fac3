import { HTTP_STATUS } from '../errors/status.ts';
import { respondError } from '../http/respond.ts';
import type { Stage } from '../http/stage.ts';
import type { Logger } from '../observability/logger.ts';

/** Turns whatever a later stage threw into an answer in the route's dialect; what nobody expected is logged in full. */
export function errors(log: Logger): Stage {
  return async function answerErrors(context, next) {
    try {
      await next();
    } catch (thrown) {
      const { state } = context;
      const error = state.errorOf(thrown);
      if (HTTP_STATUS[error.kind] >= 500 && !state.isAborted) {
        log.error({ err: error.cause ?? error, code: error.code, requestId: state.requestId }, error.detail);
      }
      respondError(context, error);
    }
  };
}
