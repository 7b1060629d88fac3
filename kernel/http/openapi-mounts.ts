import { METHODS } from '../../foundation/http/node-http.ts';
import type { CompiledRoute } from './compiled-route.ts';
import { describedAccess } from './openapi-access.ts';

type PathItem = Readonly<Record<string, unknown>>;

/**
 * What the document says of mounted routers: their own words and the access rule, or that they answer below a prefix.
 */
export function mountedPaths(
  routes: readonly CompiledRoute[],
  schemes: readonly string[],
): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(
    routes.flatMap((route) => {
      const { openapi, pattern, summary } = route;
      if (openapi === undefined) return [];
      const prefix = pattern.slice(0, -'/{rest*}'.length);
      const items = Object.entries(openapi);
      if (items.length === 0) return [[prefix || '/', { summary, description: BELOW }]];
      return items.map(([path, item]) => [`${prefix}${path}`, withAccess(item, route, schemes)]);
    }),
  );
}

const BELOW = 'A router answers here and below, and says no more of its paths.';

function withAccess(item: PathItem, { access, owner }: CompiledRoute, schemes: readonly string[]): PathItem {
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => {
      const verb = method.toUpperCase();
      if (!METHODS.includes(verb)) return [method, operation];
      const { members } = describedAccess(access, verb, schemes, access.kind !== 'public');
      return [method, { tags: [owner], ...(operation as object), ...members }];
    }),
  );
}
