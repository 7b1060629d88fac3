import type { Middleware } from 'koa';
import { createValidator, type InputPlace, type Validator } from '../../foundation/base/json-schema.ts';
import type { Access } from '../api/access.ts';
import type { ErrorDialect, Route } from '../api/route.ts';
import type { InFlight } from '../chain/in-flight.ts';

/** A route that is ready to serve: its owner is known, its schemas are compiled. */
export interface CompiledRoute {
  /** `route`: one definition. `router`: everything below a prefix, through a Koa router. */
  readonly kind: 'route' | 'router';
  /** Name of the plugin, or `kernel`. */
  readonly owner: string;
  readonly methods: readonly string[];
  /** `/v1/tenants/{id}`: the metric label and the key of collisions. */
  readonly pattern: string;
  readonly access: Access;
  readonly summary: string;
  readonly errors: ErrorDialect;
  readonly rateLimit: 'standard' | 'bootstrap' | 'none';
  /** Counts the calls of the plugin generation that this route belongs to. */
  readonly inFlight: InFlight;
  readonly definition: Route | undefined;
  readonly validators: Readonly<Partial<Record<InputPlace, Validator>>>;
  /** The mounted Koa router, of kind `router`. */
  readonly middleware: Middleware | undefined;
}

const PLACES: readonly InputPlace[] = ['params', 'query', 'headers', 'body'];

/**
 * Makes a definition ready. Its schemas are compiled at the first request that needs them: all of them at the start took a
 * fifth of it. One that is no JSON Schema is found by the conformance suite, or at that request.
 *
 * @throws Error for a path without a slash, and a route without access rule or summary.
 */
export function compileRoute(definition: Route, owner: string, inFlight: InFlight): CompiledRoute {
  const label = `${definition.method} ${definition.path}`;
  if (!definition.path.startsWith('/')) throw new Error(`${label}: a path starts with a slash`);
  if (definition.access === undefined)
    throw new Error(`${label}: a route without an access rule is not mounted`);
  if (!definition.summary) throw new Error(`${label}: a route needs a summary`);
  const validators: Partial<Record<InputPlace, Validator>> = {};
  for (const place of PLACES) {
    const schema = definition.schema?.[place];
    if (schema !== undefined) validators[place] = createValidator(schema, place);
  }
  return {
    kind: 'route',
    owner,
    methods: [definition.method],
    pattern: definition.path,
    access: definition.access,
    summary: definition.summary,
    errors: definition.errors ?? 'problem',
    rateLimit: definition.rateLimit ?? 'standard',
    inFlight,
    definition,
    validators,
    middleware: undefined,
  };
}

/** Compiles everything below `prefix` into one route that a Koa router answers. */
export function compileMount(
  mount: { prefix: string; access: Access; summary: string; middleware: Middleware },
  owner: string,
  inFlight: InFlight,
): CompiledRoute {
  if (mount.access === undefined)
    throw new Error(`${mount.prefix}: a mount without an access rule is refused`);
  return {
    kind: 'router',
    owner,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    pattern: `${mount.prefix.replace(/\/$/, '')}/{rest*}`,
    access: mount.access,
    summary: mount.summary,
    errors: 'problem',
    rateLimit: 'standard',
    inFlight,
    definition: undefined,
    validators: {},
    middleware: mount.middleware,
  };
}
