import { decide } from '../access/decide.ts';
import { denialError } from '../auth/errors.ts';
import { isLoopbackCaller } from '../http/source-address.ts';
import type { Stage } from '../http/stage.ts';
import type { RequestLimits } from './rate-limit.ts';

/** What the stage needs. */
export interface RbacStage {
  readonly anonymousAllowed: boolean | undefined;
  readonly limits: RequestLimits;
}

/**
 * Applies the route's access rule: 401 without a credential that holds, 403 without the role or scope. Paths that lead
 * nowhere pass, to be 404 for everybody. What is refused counts against the tenant's window, or against the caller's
 * address, like what is served: guessing is as limited as any other request.
 */
export function rbac({ anonymousAllowed, limits }: RbacStage): Stage {
  return function authorizeRequest(context, next) {
    const { match, identity, unavailable } = context.state;
    if (match.kind !== 'route') return next();
    const { access } = match.route;
    if (access.kind === 'public') return next();
    if (unavailable !== undefined) throw unavailable;
    const loopback = identity.method === 'anonymous' && isLoopbackCaller(context.req);
    const caller = { loopback, anonymousAllowed };
    const decision = decide(access, identity, context.req.method ?? 'GET', caller);
    if (decision.allow) return next();
    const denial = denialError(decision, context.state.failure);
    const counted =
      decision.reason === 'forbidden' ? limits.countTenant(context) : limits.countAnonymous(context);
    if (counted === undefined) throw denial;
    return counted.then(() => {
      throw denial;
    });
  };
}
