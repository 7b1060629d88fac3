import type { LogFailure } from '../../foundation/errors/failure-log.ts';
import { respondError } from '../http/respond.ts';
import type { Middleware } from './request-state.ts';

/** Turns whatever a later stage threw into an answer in the route's dialect; an unexpected error is logged in full. */
export function errors(logFailure: LogFailure, hasStarted: () => boolean): Middleware {
  return async function answerErrors(context, next) {
    const mayCome = !hasStarted();
    try {
      await next();
    } catch (thrown) {
      const error = context.state.errorOf(thrown);
      logFailure(context.state, error);
      // Of what is not there some plugin may still bring. The error may name another time.
      if (mayCome && error.kind === 'unavailable' && error.extras.retryable !== false)
        context.set('retry-after', '1');
      respondError(context, error);
    }
  };
}
