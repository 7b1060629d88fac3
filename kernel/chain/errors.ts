import type { LogFailure } from '../../foundation/errors/failure-log.ts';
import { respondError } from '../http/respond.ts';
import type { Middleware } from './request-state.ts';

/** Turns whatever a later stage threw into an answer in the route's dialect; an unexpected error is logged in full. */
export function errors(logFailure: LogFailure): Middleware {
  return async function answerErrors(context, next) {
    try {
      await next();
    } catch (thrown) {
      const error = context.state.errorOf(thrown);
      logFailure(context.state, error);
      respondError(context, error);
    }
  };
}
