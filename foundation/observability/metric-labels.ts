/** Label of requests without an authenticated tenant (specification 1, Metrics). */
export const ANONYMOUS_TENANT = 'anonymous';

/** Label of everything for which a bound on the number of series left no room. */
export const OTHER = 'other';

/** The label `path`: the route's pattern, cut after 64 characters (specification 1, Limits). */
export function pathLabel(pattern: string): string {
  return pattern.length > MAX_PATH ? pattern.slice(0, MAX_PATH) : pattern;
}

/** The label `tenant_id` of a tenant's id that may be missing. */
export function tenantLabel(tenantId: string | undefined): string {
  return tenantId === undefined || tenantId === '' ? ANONYMOUS_TENANT : tenantId;
}

/** The label `method`: methods that no route has share one, for a client may send any that the parser knows. */
export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : OTHER;
}

/** The label `status`; what is no HTTP status becomes 0. */
export function statusLabel(status: number): number {
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : 0;
}

const MAX_PATH = 64;
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
