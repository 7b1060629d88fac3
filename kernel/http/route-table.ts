import findMyWay from 'find-my-way';
import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { ErrorDialect } from '../../foundation/errors/render.ts';
import { isPartMissing, nearPaths, routerPath, shapeOf } from '../../foundation/http/path-pattern.ts';
import type { CompiledRoute } from './compiled-route.ts';

/** What a path and method lead to. */
export type Match =
  | {
      readonly kind: 'route';
      readonly route: CompiledRoute;
      readonly params: Readonly<Record<string, string>>;
    }
  /** The headers alone forbid it. */
  | { readonly kind: 'refused'; readonly error: GatewayError }
  /** `errors` is the dialect of the path's routes. */
  | { readonly kind: 'wrong-method'; readonly allow: readonly string[]; readonly errors: ErrorDialect }
  | { readonly kind: 'nothing'; readonly detail: string };

/** Two routes want the same method and path. */
export class RouteCollision extends Error {
  override readonly name = 'RouteCollision';
  readonly owners: readonly [string, string];

  constructor(method: string, path: string, first: string, second: string) {
    const by = first === second ? `declared twice by ${first}` : `served by both ${first} and ${second}`;
    super(`${method} ${path} is ${by}`);
    this.owners = [first, second];
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Routes are looked up, not called, through the router. */
const LOOKED_UP = () => {};

type Router = findMyWay.Instance<findMyWay.HTTPVersion.V1>;

/**
 * The routes of one address, immutable: a change of plugins builds a new table and swaps it in, so a request sees
 * either all routes of a plugin or none. The router of a table is made for its first request: while a gateway starts,
 * each plugin that comes replaces a table that no request has seen.
 */
export class RouteTable {
  readonly routes: readonly CompiledRoute[];
  #router: Router | undefined;

  /** @throws RouteCollision naming both owners. */
  constructor(routes: readonly CompiledRoute[]) {
    this.routes = routes;
    const owners = new Map<string, string>();
    for (const route of routes) {
      for (const [method, path] of placesOf(route)) {
        const key = `${method} ${shapeOf(path)}`;
        const owner = owners.get(key);
        if (owner !== undefined) throw new RouteCollision(method, path, owner, route.owner);
        owners.set(key, route.owner);
      }
    }
  }

  /** Finds the route of a raw path (percent-encoded, without the query). */
  find(method: string, path: string): Match {
    const found = this.#lookup(method, path) ?? (method === 'HEAD' ? this.#lookOnly(path) : undefined);
    if (found !== undefined) return found;
    const allow: string[] = METHODS.filter((other) => this.#lookup(other, path) !== undefined);
    const first = this.#lookup(allow[0] ?? method, path)?.route;
    if (first === undefined) {
      const near = nearPaths(path).find((one) => this.#lookup(method, one));
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      return { kind: 'nothing', detail: `There is no ${method} ${path}${hint}` };
    }
    if (!allow.includes('HEAD') && this.#lookOnly(path) !== undefined) allow.push('HEAD');
    return { kind: 'wrong-method', allow: [...allow, 'OPTIONS'], errors: first.errors };
  }

  #lookup(method: string, path: string): Extract<Match, { kind: 'route' }> | undefined {
    this.#router ??= routerOf(this.routes);
    const result = this.#router.find(method as findMyWay.HTTPMethod, path);
    if (result === null || isPartMissing(result.params)) return undefined;
    return { kind: 'route', route: result.store, params: result.params as Record<string, string> };
  }

  /** The GET that answers HEAD, unless it uses something up. */
  #lookOnly(path: string): Match | undefined {
    const found = this.#lookup('GET', path);
    return found?.route.definition?.head === false ? undefined : found;
  }
}

function routerOf(routes: readonly CompiledRoute[]): Router {
  const router = findMyWay({ ignoreTrailingSlash: false, maxParamLength: 512 });
  for (const route of routes) {
    for (const [method, path] of placesOf(route))
      router.on(method as findMyWay.HTTPMethod, routerPath(path), LOOKED_UP, route);
  }
  return router;
}

/** Each method with each path that leads to a route. */
function placesOf({ kind, methods, pattern }: CompiledRoute): readonly (readonly [string, string])[] {
  // What is mounted below a prefix answers at the prefix itself, too.
  const paths = kind === 'router' ? [pattern, pattern.replace(/\/\{[^}]*\}$/, '') || '/'] : [pattern];
  return methods.flatMap((method) => paths.map((path) => [method, path] as const));
}
