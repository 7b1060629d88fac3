import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { KernelSettings } from '../../foundation/config/kernel-settings.ts';
import { headerOf } from '../../foundation/http/headers.ts';
import { namedParams } from '../../foundation/http/path-pattern.ts';
import { addressGroup } from '../../foundation/http/source-address.ts';
import type { Decision, RateLimits, RateWindow } from '../../foundation/limits/rate-limits.ts';
import { refusalOf } from '../../foundation/limits/rate-limits.ts';
import type { RouteLimit } from '../api/route.ts';
import type { CallState } from './call-state.ts';
import type { Context, Middleware } from './request-state.ts';

/** What the limits of requests are made of. */
export interface RequestLimitParts {
  readonly windows: RateLimits;
  /** Requests a minute. */
  readonly settings: KernelSettings['rateLimits'];
  rejected(tenantId: string | undefined, window: RateWindow): void;
}

/** Which windows a route or method is counted in. */
export type RateRule = 'standard' | 'bootstrap' | 'none';

/** Counts the requests of all transports against the windows that they belong to, and refuses with 429. */
export class RequestLimits {
  readonly #parts: RequestLimitParts;

  constructor(parts: RequestLimitParts) {
    this.#parts = parts;
  }

  /** Counts a request in the windows of its route's or method's rule. */
  count(state: CallState, rule: RateRule): void | Promise<void> {
    if (rule === 'none') return undefined;
    if (rule === 'standard') return this.countTenant(state);
    return this.#count(state, 'bootstrap', addressGroup(state.sourceAddress), this.#parts.settings.bootstrap);
  }

  /** Counts a request without a credential of a tenant's own against its source address. */
  countAnonymous(state: CallState): void | Promise<void> {
    return this.#count(state, 'anonymous', addressGroup(state.sourceAddress), this.#parts.settings.anonymous);
  }

  /** Counts against the user's window, so that no user takes all, then the tenant's, whose refusal gives that back. */
  countTenant(state: CallState): void | Promise<void> {
    const { tenant, identity } = state;
    const isApart = identity.method === 'anonymous' || identity.countsApart === true;
    if (tenant === undefined || isApart) return this.countAnonymous(state);
    const countTenant = () => this.#count(state, 'tenant', tenant.id, tenant.rateLimitRpm);
    const user = this.#userLimit(tenant.rateLimitRpm);
    if (user === undefined) return countTenant();
    const counted = this.#count(state, 'user', userKey(state), user);
    return counted === undefined ? countTenant() : counted.then(countTenant);
  }

  /** The user's limit where it counts: one as wide as the tenant's never refuses what the tenant's admits. */
  #userLimit(tenantLimit: number): number | undefined {
    const { user = tenantLimit } = this.#parts.settings;
    return user < tenantLimit ? user : undefined;
  }

  /** Counts in a window of the route's own. */
  countRoute(state: CallState, key: string, limit: number): void | Promise<void> {
    return this.#count(state, 'route', key, limit);
  }

  #count(state: CallState, window: RateWindow, key: string, limit: number): void | Promise<void> {
    const decision = this.#parts.windows.consume(window, key, limit);
    if (decision instanceof Promise) return decision.then((made) => this.#apply(state, window, made));
    this.#apply(state, window, decision);
  }

  #apply(state: CallState, window: RateWindow, { allowed, limit, remaining }: Decision): void {
    state.tellLimit(limit, remaining);
    if (allowed) return;
    if (window === 'tenant' && this.#userLimit(limit) !== undefined)
      this.#parts.windows.giveBack('user', userKey(state));
    this.#parts.rejected(state.tenant?.id, window);
    throw KernelErrors.rateLimited(refusalOf(window, limit), { headers: { 'retry-after': '60' } });
  }
}

/** One credential's users, as `X-Svc-User-Id` names them, are counted apart. */
function userKey({ identity: { tenantId, id }, userHeader }: CallState): string {
  return JSON.stringify([tenantId, id, userHeader?.slice(0, 256)]);
}

/** Refuses with 429 what exceeds the tenant's, the user's or the address's window (specification 1, Limits). */
export function rateLimit(limits: RequestLimits): Middleware {
  return function limitRequest(context, next) {
    const { state } = context;
    const rule = state.match.kind === 'route' ? state.match.route.rateLimit : 'standard';
    const counted = typeof rule === 'string' ? limits.count(state, rule) : countOwn(limits, rule, context);
    return counted === undefined ? next() : counted.then(next);
  };
}

/** Characters of a key that count. */
const MAX_KEY = 256;

function countOwn(
  limits: RequestLimits,
  { perMinute, by }: RouteLimit,
  { state, req }: Context,
): void | Promise<void> {
  const { match, identity, owner, pattern } = state;
  const params = match.kind === 'route' ? namedParams(pattern, match.params) : {};
  const header = (name: string) => headerOf(req.headers, name);
  const key = by({ identity, address: addressGroup(state.sourceAddress), params, header });
  if (key === undefined) return limits.countTenant(state);
  return limits.countRoute(state, `${owner}:${req.method}:${pattern}:${key.slice(0, MAX_KEY)}`, perMinute);
}
