import { type AddressedRequest, isLoopbackCaller } from '../../foundation/http/source-address.ts';
import { decide } from '../access/decide.ts';
import type { Access } from '../api/access.ts';
import { denialError } from '../auth/errors.ts';
import type { CallState } from './call-state.ts';
import type { RequestLimits } from './rate-limit.ts';
import type { Middleware } from './request-state.ts';

/** Lets a call pass or throws why not; `method` as in `decide`. No promise where nothing has to be waited for. */
export type Authorize = (
  state: CallState,
  access: Access,
  method: string,
  request: AddressedRequest,
) => void | Promise<void>;

/**
 * Applies an access rule: 401 without a credential that holds, 403 without the role or scope. What is refused counts
 * against the tenant's window, or against the caller's address, like what is served: guessing is limited too.
 */
export function createAuthorize(anonymousAllowed: boolean | undefined, limits: RequestLimits): Authorize {
  return function authorize(state, access, method, request) {
    if (access.kind === 'public') return;
    const { identity, unavailable } = state;
    if (unavailable !== undefined) throw unavailable;
    const loopback = identity.method === 'anonymous' && isLoopbackCaller(request);
    const decision = decide(access, identity, method, { loopback, anonymousAllowed });
    if (decision.allow) return;
    const denial = denialError(decision, state.failure);
    const counted =
      decision.reason === 'forbidden' ? limits.countTenant(state) : limits.countAnonymous(state);
    if (counted === undefined) throw denial;
    return counted.then(() => {
      throw denial;
    });
  };
}

/** Applies the route's access rule. Paths that lead nowhere pass, to be 404 for everybody. */
export function rbac(authorize: Authorize): Middleware {
  return function authorizeRequest(context, next) {
    const { match } = context.state;
    if (match.kind !== 'route') return next();
    const { req } = context;
    const decided = authorize(context.state, match.route.access, req.method ?? 'GET', req);
    return decided === undefined ? next() : decided.then(next);
  };
}
