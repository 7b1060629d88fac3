import type { Route } from 'agent-gateway';

/** Serves routes, whose paths are written without it, under `/api/v2` and, as deprecated, under `/api/v1` (specification 3, Versioning). */
export function underV2(routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => ({ ...route, path: `/api/v2${route.path}` }));
}
