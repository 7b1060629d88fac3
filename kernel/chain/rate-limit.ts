import { KernelErrors } from '../errors/catalogue.ts';
import { addressGroup } from '../http/source-address.ts';
import type { Context, Stage } from '../http/stage.ts';
import type { Decision } from '../limits/decision.ts';
import type { RateLimits, RateWindow } from '../limits/rate-limits.ts';

/** Limits in requests a minute. */
export interface RateSettings {
  readonly anonymous: number;
  /** `undefined`: the tenant's own limit, which then decides alone. */
  readonly user: number | undefined;
  readonly bootstrap: number;
}

/** What the limits of requests are made of. */
export interface RequestLimitParts {
  readonly windows: RateLimits;
  readonly settings: RateSettings;
  rejected(tenantId: string | undefined, window: RateWindow): void;
}

/** Counts requests against the windows that they belong to, and refuses with 429. */
export class RequestLimits {
  readonly #parts: RequestLimitParts;

  constructor(parts: RequestLimitParts) {
    this.#parts = parts;
  }

  /** Counts a request without a credential against its source address. */
  countAnonymous(context: Context): void | Promise<void> {
    return this.#count(
      context,
      'anonymous',
      addressGroup(context.state.sourceAddress),
      this.#parts.settings.anonymous,
    );
  }

  /** Counts an attempt to bootstrap against its source address. */
  countBootstrap(context: Context): void | Promise<void> {
    return this.#count(
      context,
      'bootstrap',
      addressGroup(context.state.sourceAddress),
      this.#parts.settings.bootstrap,
    );
  }

  /** Counts against the user, where he has a window of his own, then against the tenant: one user cannot use up all. */
  countTenant(context: Context): void | Promise<void> {
    const { tenant, identity } = context.state;
    if (tenant === undefined || identity.method === 'anonymous') return this.countAnonymous(context);
    const countTenant = () => this.#count(context, 'tenant', tenant.id, tenant.rateLimitRpm);
    const { user } = this.#parts.settings;
    // A user's window as wide as the tenant's never refuses what the tenant's admits.
    if (user === undefined || user >= tenant.rateLimitRpm) return countTenant();
    const counted = this.#count(context, 'user', userKey(context), user);
    return counted === undefined ? countTenant() : counted.then(countTenant);
  }

  #count(context: Context, window: RateWindow, key: string, limit: number): void | Promise<void> {
    const decision = this.#parts.windows.consume(window, key, limit);
    if (decision instanceof Promise) return decision.then((made) => this.#apply(context, window, made));
    this.#apply(context, window, decision);
  }

  #apply(context: Context, window: RateWindow, { allowed, limit, remaining }: Decision): void {
    const { res, state } = context;
    // Of two windows the headers tell the one that is closer to its end.
    const told = res.getHeader('X-RateLimit-Remaining');
    if (told === undefined || remaining < Number(told)) {
      res.setHeader('X-RateLimit-Limit', limit);
      res.setHeader('X-RateLimit-Remaining', remaining);
    }
    if (allowed) return;
    this.#parts.rejected(state.tenant?.id, window);
    throw KernelErrors.rateLimited(`No more than ${limit} requests a minute are allowed`, {
      headers: { 'retry-after': '60' },
    });
  }
}

/** One credential's users, as `X-Svc-User-Id` names them, are counted apart. */
function userKey({ state, req }: Context): string {
  const user = req.headers['x-svc-user-id'];
  const { tenantId, id } = state.identity;
  return typeof user === 'string' ? `${tenantId}:${id}:${user.slice(0, 256)}` : `${tenantId}:${id}`;
}

/** Refuses with 429 what exceeds the tenant's, the user's or the address's window (specification 1, Limits). */
export function rateLimit(limits: RequestLimits): Stage {
  return function limitRequest(context, next) {
    const { match } = context.state;
    const rule = match.kind === 'route' ? match.route.rateLimit : 'standard';
    if (rule === 'none') return next();
    const counted = rule === 'bootstrap' ? limits.countBootstrap(context) : limits.countTenant(context);
    return counted === undefined ? next() : counted.then(next);
  };
}
