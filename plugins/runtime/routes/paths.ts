import type { Route } from 'agent-gateway';

/** Since when, and until when, `/api/v1` is a deprecated alias of `/api/v2`. */
const DEPRECATED = { since: new Date('2026-01-01T00:00:00Z'), sunset: new Date('2028-01-01T00:00:00Z') };

/**
 * Serves routes, whose paths are written without a prefix, under `/api/v2` and, as deprecated, under `/api/v1`
 * (specification 3, Versioning; decisions 3.2).
 */
export function underV2(routes: readonly Route[]): readonly Route[] {
  return routes.flatMap((route) => [
    { ...route, path: `/api/v2${route.path}` },
    { ...route, path: `/api/v1${route.path}`, deprecated: { ...DEPRECATED, successor: '/api/v2' } },
  ]);
}
