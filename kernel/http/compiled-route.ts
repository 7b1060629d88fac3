import type { Middleware } from 'koa';
import type { InFlight } from '../../foundation/base/in-flight.ts';
import { createValidator, type InputPlace, type Validator } from '../../foundation/base/json-schema.ts';
import { Type } from '../../foundation/base/type.ts';
import { checkServed } from '../../foundation/code/served-form.ts';
import type { ErrorDialect } from '../../foundation/errors/render.ts';
import { checkPathPattern } from '../../foundation/http/path-pattern.ts';
import type { Access } from '../api/access.ts';
import type { MountOptions, Route } from '../api/route.ts';

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
  readonly rateLimit: NonNullable<Route['rateLimit']>;
  /** Bytes; `undefined` for the default. */
  readonly bodyLimit: number | undefined;
  /** Counts the calls of the plugin generation that this route belongs to. */
  readonly inFlight: InFlight;
  readonly definition: Route | undefined;
  readonly validators: Readonly<Partial<Record<InputPlace, Validator>>>;
  /** The mounted Koa router, of kind `router`. */
  readonly middleware: Middleware | undefined;
  /** What the router says of its paths. */
  readonly openapi: MountOptions['openapi'];
}

const PLACES: readonly InputPlace[] = ['params', 'query', 'headers', 'body'];

/**
 * Makes a definition ready. Its schemas are compiled at the first request that needs them: all of them at the start
 * took a fifth of it. One that is no JSON Schema is found by the conformance suite, or at that request.
 *
 * @throws Error for a path or a member of another form than the route needs.
 */
export function compileRoute(definition: Route, owner: string, inFlight: InFlight): CompiledRoute {
  const label = `${definition.method} ${definition.path}`;
  checkServed('route', label, definition);
  checkPathPattern(label, definition.path);
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
    bodyLimit: definition.bodyLimit,
    inFlight,
    definition: definition.bodyType === 'raw' ? described(definition) : definition,
    validators,
    middleware: undefined,
    openapi: undefined,
  };
}

/** For the document: bytes, where the route says nothing of them. */
function described(definition: Route): Route {
  const { body = Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) } = definition.schema ?? {};
  return { ...definition, schema: { ...definition.schema, body } };
}

/** Compiles everything below `prefix` into one route that a Koa router answers. */
export function compileMount(
  mount: MountOptions & { prefix: string; middleware: Middleware },
  owner: string,
  inFlight: InFlight,
): CompiledRoute {
  checkServed('mount', mount.prefix, mount);
  const pattern = `${mount.prefix.replace(/\/$/, '')}/{rest*}`;
  checkPathPattern(mount.prefix, pattern);
  return {
    kind: 'router',
    owner,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    pattern,
    access: mount.access,
    summary: mount.summary,
    errors: 'problem',
    rateLimit: mount.rateLimit ?? 'standard',
    bodyLimit: mount.bodyLimit,
    inFlight,
    definition: undefined,
    validators: {},
    middleware: mount.middleware,
    openapi: mount.openapi ?? {},
  };
}
