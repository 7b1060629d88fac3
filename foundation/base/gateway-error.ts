/**
 * The kinds of failure that callers can distinguish. A kind decides the status of every dialect (HTTP, OpenAI, Coze,
 * gRPC); the code inside a kind identifies the failure for programs.
 */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'conflict'
  | 'gone'
  | 'precondition-failed'
  | 'too-large'
  | 'unsupported-media'
  | 'headers-too-large'
  | 'expectation-failed'
  | 'request-timeout'
  | 'range-not-satisfiable'
  | 'rate-limited'
  | 'client-closed'
  | 'internal'
  | 'upstream'
  | 'unavailable'
  | 'timeout';

/** The same at run time, for plugins that no compiler has seen. */
const KINDS: readonly string[] = (
  'invalid unauthenticated forbidden not-found method-not-allowed conflict gone ' +
  'precondition-failed too-large unsupported-media headers-too-large expectation-failed request-timeout range-not-satisfiable ' +
  'rate-limited client-closed internal upstream unavailable timeout'
).split(' ');

/**
 * One bad field of the caller's input. `pointer` is an RFC 6901 JSON pointer, rooted at the place named by its first
 * segment.
 */
export interface FieldError {
  readonly pointer: string;
  readonly message: string;
  /** A stable code where a catalogue of field errors exists (workflow graphs, agent YAML). */
  readonly code?: string;
  readonly [extra: string]: unknown;
}

/** What a thrower may add to a catalogued error. */
export interface ErrorExtras {
  readonly errors?: readonly FieldError[];
  /** Response headers, lower case (`retry-after`, `allow`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** False where a client library that retries by itself must not (sends `x-should-retry: false`). */
  readonly retryable?: boolean;
  /** The offending request field, for the OpenAI dialect's `param`. */
  readonly param?: string;
  /** The original failure: logged, never sent. */
  readonly cause?: unknown;
}

/** An entry of an error catalogue: a stable code, its kind, and the title that every occurrence shares. */
export interface ErrorDefinition {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly title: string;
  /**
   * Seconds after which a repetition may succeed: sent as `retry-after` where the thrower names no other time and does
   * not say that it cannot succeed. Default: none is sent.
   */
  readonly retryAfter?: number;
}

/**
 * The one class of error that reaches callers. Everything else that is thrown is rendered as `internal`, without its
 * text.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: string;
  readonly kind: ErrorKind;
  readonly title: string;
  readonly extras: ErrorExtras;

  constructor(definition: ErrorDefinition, detail?: string, extras: ErrorExtras = {}) {
    super(detail ?? definition.title, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.code = definition.code;
    this.kind = definition.kind;
    this.title = definition.title;
    this.extras = withRetryAfter(definition, extras);
  }

  /** The sentence for the caller. */
  get detail(): string {
    return this.message;
  }
}

function withRetryAfter({ retryAfter }: ErrorDefinition, extras: ErrorExtras): ErrorExtras {
  if (retryAfter === undefined || extras.retryable === false) return extras;
  return { ...extras, headers: { 'retry-after': String(retryAfter), ...extras.headers } };
}

/** A function that makes one catalogued error; `detail` is shown to the caller and must hold no secret. */
export type ErrorFactory = ((detail?: string, extras?: ErrorExtras) => GatewayError) & {
  readonly definition: ErrorDefinition;
  /** Whether what was thrown is this error. */
  is(thrown: unknown): thrown is GatewayError;
};

/**
 * Makes an owner's catalogue: each entry becomes a function that creates the error.
 *
 * @throws TypeError for a kind that is none
 * @example
 * const TenantErrors = defineErrors({
 *   notFound: { code: 'tenant.not-found', kind: 'not-found', title: 'There is no such tenant' },
 * });
 * throw TenantErrors.notFound();
 * if (TenantErrors.notFound.is(error)) return undefined;
 */
export function defineErrors<const D extends Record<string, ErrorDefinition>>(
  definitions: D,
): { readonly [K in keyof D]: ErrorFactory } {
  const entries = Object.entries(definitions).map(([key, definition]) => {
    if (!KINDS.includes(definition.kind))
      throw new TypeError(
        `The error ${definition.code} has the kind ${definition.kind}: it is one of ${KINDS.join(', ')}`,
      );
    const make = (detail?: string, extras?: ErrorExtras) => new GatewayError(definition, detail, extras);
    const is = (thrown: unknown): thrown is GatewayError =>
      thrown instanceof GatewayError && thrown.code === definition.code;
    return [key, Object.assign(make, { definition, is })];
  });
  return Object.fromEntries(entries) as { readonly [K in keyof D]: ErrorFactory };
}
