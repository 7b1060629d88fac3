import type { Static, TSchema } from 'typebox';
import type { ErrorKind, FieldError, GatewayError } from '../../foundation/base/gateway-error.ts';
import type { ErrorDialect } from '../../foundation/errors/render.ts';
import type { Identity } from '../access/identity.ts';
import type { Access } from './access.ts';
import type { Call } from './call.ts';

/** The HTTP methods that a route may have. HEAD is answered from GET (but see `head`), OPTIONS by the kernel. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * The schemas of a route's input and answers; what is named here is validated, documented and typed.
 * `patternErrorMessage` next to a pattern is reported instead of the pattern. `examples` of schemas, and of their
 * members, make the examples of the document; without them one is made of types and bounds. A schema with
 * `documentedAs` is documented as that: for what a handler checks itself.
 */
export interface RouteSchema {
  /** An object schema of the `{name}` parts of the path. */
  readonly params?: TSchema;
  /** An object schema; strings are coerced to the declared types, unknown parameters are ignored. */
  readonly query?: TSchema;
  /** An object schema of lower-case header names. */
  readonly headers?: TSchema;
  /**
   * With `bodyType: 'json'` any schema; with `'text'` a string schema; with `'form'` `Type.Unsafe<Readable>({…})` of
   * the object that the form stands for: documentation, not checked at run time.
   */
  readonly body?: TSchema;
  /** Answers by status; `null` for one without content. For documents and clients' types, not checked at run time. */
  readonly responses?: Readonly<Record<number, TSchema | null>>;
  /** Of a route with `countsAsStream`: a string schema that describes its events, with a stream as the example. */
  readonly stream?: TSchema;
  /** An object schema of the lower-case names of the headers that these answers have besides those of all answers. */
  readonly answerHeaders?: TSchema;
}

type Input<S extends RouteSchema, K extends keyof RouteSchema> = S[K] extends TSchema
  ? Static<S[K]>
  : undefined;

/** What `handle` receives: the call, with its input validated and typed by the route's schemas. */
export interface RouteCall<S extends RouteSchema = RouteSchema> extends Call {
  readonly params: Input<S, 'params'>;
  readonly query: Input<S, 'query'>;
  readonly headers: Input<S, 'headers'>;
  readonly body: Input<S, 'body'>;
  /** The path with its query as it came: what callers sign. */
  readonly target: string;
  /** The bytes of the body as they came, of routes with `bodyType: 'raw'` (empty without one) or `rawBody: true`. */
  readonly rawBody: Buffer | undefined;
}

/** What a limit of a route sees of a call: its input is not read yet. */
export interface LimitedCall {
  /** Who is calling; of a caller without a credential the anonymous identity, whose `tenantId` is empty. */
  readonly identity: Identity;
  /** IPv4 address, or /64 network of an IPv6 address, behind the trusted proxies. */
  readonly address: string;
  /** The parts of the path, not validated. */
  readonly params: Readonly<Record<string, string>>;
  /** A header by its name. */
  header(name: string): string | undefined;
}

/** A window of a route's own, over all replicas as those of the gateway are. */
export interface RouteLimit {
  /** Calls of one key in a minute; a whole number from 1. */
  readonly perMinute: number;
  /**
   * What is counted together: calls of one key, of which 256 characters count. `undefined` counts in the standard
   * windows. What callers may choose freely is no key: each value would have a window of its own.
   */
  by(call: LimitedCall): string | undefined;
}

/** How a router is mounted. */
export interface MountOptions {
  readonly access: Access;
  /** One line for people. */
  readonly summary: string;
  /** Like that of a route. */
  readonly rateLimit?: RouteDefinition['rateLimit'];
  /** Bytes of body that the router may read of one request; default 1 MiB, above it 413. */
  readonly bodyLimit?: number;
  /**
   * Path items of OpenAPI 3.0 by the paths below the prefix (`/hello/{name}`). Without it the document has the prefix
   * alone, and the conformance suite samples nothing.
   */
  readonly openapi?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One HTTP route of a plugin. */
export interface RouteDefinition<S extends RouteSchema = RouteSchema> {
  readonly method: HttpMethod;
  /**
   * `/v1/tenants/{id}`: text and parameters, never empty, each up to the next slash, hyphen or dot (`/{id}.json`); a
   * last part `{rest*}` matches everything below. Another path is refused at the set-up.
   */
  readonly path: string;
  readonly access: Access;
  /** One line for the OpenAPI document. */
  readonly summary: string;
  readonly description?: string;
  /** Groups operations in the OpenAPI document; default: the plugin's name. */
  readonly tag?: string;
  readonly schema?: S;
  /** Default `problem`. */
  readonly errors?: ErrorDialect;
  /** Bytes of body that are read at most; default 1 MiB, above it 413. */
  readonly bodyLimit?: number;
  /**
   * Default `json` when the schema has a body. `form`: the `multipart/form-data` body as a `Readable` that is not read
   * yet; above `bodyLimit` it fails with
   * 413. The handler reads it to its end, also where it refuses it, or ends the connection by not beginning to. `raw`:
   *      the bytes as they came, whatever their content type, as `call.rawBody`; for bodies that another party has
   *      signed. A schema of the body is documentation then.
   */
  readonly bodyType?: 'json' | 'text' | 'form' | 'raw';
  /** True: `call.rawBody` has the bytes of a `json` or `text` body, in addition to the `body` that was made of them. */
  readonly rawBody?: boolean;
  /**
   * True: a request without a body is one with `{}` (of `bodyType: 'text'`: with the empty text). Default false: it is
   * refused with 400, also where no member is required, so that an empty request changes nothing unnamed.
   */
  readonly bodyOptional?: boolean;
  /**
   * The content type of what is answered as text, bytes or a stream; what is JSON has its own. The wildcard of all
   * types where it differs from answer to answer, each of which then names its own.
   */
  readonly answerType?: string;
  /**
   * Kinds of failure in addition to those that every route of its form has: 401 and 403 by access, 404 by a parameter
   * in the path, 409 by the method, 413 and 415 by a body, 412 by `if-match`, 429, 500, 503. Documentation.
   */
  readonly failures?: readonly ErrorKind[];
  /**
   * The route is another's old path: every answer says so (`Deprecation` of RFC 9745, `Sunset` of RFC 8594, `Link` to
   * its successor). The OpenAPI document has the successor alone.
   */
  readonly deprecated?: { readonly since: Date; readonly sunset: Date; readonly successor: string };
  /**
   * False, of a GET that uses something up, as a link that works once: HEAD, by which previews and scanners look at an
   * address, is then 405 and uses up nothing. Default: HEAD is answered from GET.
   */
  readonly head?: false;
  /**
   * An open event stream counts against `SVC_MAX_STREAMS_PER_USER`. A route that has this is documented as one that
   * answers with a stream, or with what `responses` has for 200.
   */
  readonly countsAsStream?: (call: RouteCall<S>) => boolean;
  /**
   * Which windows its calls count in. `standard`: the tenant's and the user's, or that of the source address;
   * `bootstrap`: one for each address; a `RouteLimit`: the route's own, instead of them. Calls that are refused for
   * their credential count against the tenant or the address in any case.
   */
  readonly rateLimit?: 'standard' | 'bootstrap' | 'none' | RouteLimit;
  /**
   * The error for input that the schemas refuse, from what they say of it and body and query as they came. Default:
   * `request.invalid` with `errors`. For routes with rules beyond the schema: all problems are reported at once.
   */
  readonly refuse?: (errors: readonly FieldError[], body: unknown, query: unknown) => GatewayError;
  /** Returns the body of a 200, or a `Reply`. Throws catalogued errors. */
  handle(call: RouteCall<S>): unknown;
}

/** A route whose schemas are forgotten: what the kernel keeps. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where routes of all input types meet
export type Route = RouteDefinition<any>;

/**
 * Declares a route; from its schemas come validation, the OpenAPI document and the types of `call`.
 *
 * @example
 * export const getTenant = route({
 *   method: 'GET', path: '/v1/tenants/{id}', access: access.role('admin'), summary: 'Read a tenant',
 *   schema: { params: Type.Object({ id: Type.String() }), responses: { 200: TenantRecord } },
 *   handle: (call) => tenants.get(call.params.id),
 * });
 */
export function route<const S extends RouteSchema = Record<never, never>>(
  definition: RouteDefinition<S>,
): Route {
  return definition;
}
