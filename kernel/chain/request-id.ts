import type { Ids } from '../../foundation/base/ids.ts';
import { redactText } from '../../foundation/observability/redact-text.ts';
import type { Middleware } from './request-state.ts';

const WELL_FORMED = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's request id when well-formed, else a new one (decisions 1.14). It is logged, so never a credential. */
export function requestIdOf(given: unknown, ids: Ids): string {
  return typeof given === 'string' && WELL_FORMED.test(given) && redactText(given) === given
    ? given
    : ids.uuid();
}

/** Takes the client's `X-Request-ID` when it is well-formed, else makes one, and sends it back. */
export function requestId(ids: Ids): Middleware {
  return function identifyRequest(context, next) {
    const id = requestIdOf(context.req.headers['x-request-id'], ids);
    context.state.requestId = id;
    context.res.setHeader('X-Request-ID', id);
    return next();
  };
}
