import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { FieldError } from '../../foundation/base/gateway-error.ts';
import { isJsonObject } from '../../foundation/base/json-object.ts';
import { unstorableFields } from '../../foundation/base/storable-text.ts';
import { isInvalidValue } from '../../foundation/data/errors.ts';
import {
  BODY_TYPES,
  boundBody,
  formBody,
  queryObject,
  readJson,
  readPlainText,
  readRaw,
} from '../../foundation/http/body.ts';
import type { BodyBudget } from '../../foundation/http/body-budget.ts';
import { awaitsContinue } from '../../foundation/http/early-answers.ts';
import { namedParams } from '../../foundation/http/path-pattern.ts';
import type { SseTimes } from '../../foundation/http/sse-writer.ts';
import type { StreamLimit } from '../../foundation/limits/stream-limit.ts';
import { Reply } from '../api/reply.ts';
import type { Route } from '../api/route.ts';
import type { CredentialWatch } from '../auth/credential-watch.ts';
import type { CompiledRoute } from '../http/compiled-route.ts';
import { respond } from '../http/respond.ts';
import { bodyLimitOf, exchangeOf } from './request-body.ts';
import type { Context, Middleware, RequestState } from './request-state.ts';
import { type CallServices, StateCall } from './state-call.ts';

/** What the last stage needs to serve a call. */
export interface HandlerServices extends CallServices {
  readonly times: SseTimes;
  readonly streams: StreamLimit;
  readonly credentials: CredentialWatch;
  readonly bodies: BodyBudget;
  /** Whether a handler without an answer fails where its route declares one; not in production. */
  readonly isStrict: boolean;
}

/** Reads and validates the input, calls the route's handler, and answers with what it returned. */
export function handler(services: HandlerServices): Middleware {
  return async function handleRequest(context) {
    const { match } = context.state;
    if (match.kind === 'nothing') throw KernelErrors.pathNotFound(match.detail);
    if (match.kind === 'refused') throw match.error;
    if (match.kind === 'wrong-method') {
      throw KernelErrors.methodNotAllowed(undefined, { headers: { allow: match.allow.join(', ') } });
    }
    const { route, params } = match;
    if (route.kind === 'router') {
      const tooLarge = boundBody(context.req, bodyLimitOf(context.state));
      if (awaitsContinue(context.req)) context.res.writeContinue();
      await Promise.race([route.middleware!(context, notFound), tooLarge]);
      return;
    }
    const definition = route.definition!;
    const { state } = context;
    let release: (() => void) | undefined;
    let unwatch: (() => void) | undefined;
    try {
      const call = await readCall(context, route, definition, params, services);
      if (definition.countsAsStream?.(call)) release = services.streams.acquire(call, call.userId);
      const result = await handle(definition, call);
      if (result === undefined && services.isStrict) requireNothing(definition);
      // A call whose credentials were never looked at does not depend on them.
      if (state.credentials !== undefined && result instanceof Reply && result.body.kind === 'sse')
        unwatch = services.credentials.watch(state, state.isSigned ? undefined : state.credentials);
      await respond(context, result, services.times);
    } finally {
      unwatch?.();
      release?.();
      services.bodies.release(context.state);
    }
  };
}

/** So that the author finds a forgotten `return`, and not the clients of the route. */
function requireNothing({ method, path, schema }: Route): void {
  if (schema?.responses?.[200])
    throw new TypeError(`${method} ${path} declares the body of a 200, and its handler returned nothing`);
}

/** The data layer refuses text that no database keeps, and does not know in which field of the call it stood. */
async function handle(definition: Route, call: HttpCall): Promise<unknown> {
  try {
    return await definition.handle(call);
  } catch (error) {
    if (!isInvalidValue(error)) throw error;
    if (unstorableFields(call.params, 'params').length > 0) throw KernelErrors.pathNotFound();
    const errors =
      definition.bodyType === 'form' || definition.bodyType === 'raw'
        ? []
        : unstorableFields(call.body, 'body');
    throw errors.length > 0 ? (definition.refuse ?? refuse)(errors, call.body, call.query) : error;
  }
}

async function readCall(
  context: Context,
  route: CompiledRoute,
  definition: Route,
  params: Readonly<Record<string, string>>,
  services: HandlerServices,
): Promise<HttpCall> {
  const { validators } = route;
  const call = new HttpCall(context.state, services);
  call.target = context.req.url ?? '/';
  const errors: FieldError[] = [];
  if (validators.params !== undefined) {
    call.params = namedParams(route.pattern, params);
    errors.push(...validators.params(call.params));
  }
  if (validators.query !== undefined) {
    call.query = queryObject(context.req.url ?? '');
    errors.push(...validators.query(call.query));
  }
  if (validators.headers !== undefined) {
    const headers = { ...context.req.headers };
    // HEAD is answered from GET, and of a range it knows nothing (RFC 9110, 14.2).
    if (context.method === 'HEAD') delete headers.range;
    call.headers = headers;
    errors.push(...validators.headers(headers));
  }
  if (definition.bodyType === 'form') {
    call.body = formBody(context, bodyLimitOf(context.state));
    if (call.body === undefined) errors.push(missingBody(definition));
  } else if (definition.bodyType === 'raw') {
    call.rawBody = await readAll(context, services.bodies);
    call.body = call.rawBody;
    if (call.rawBody.length === 0 && !definition.bodyOptional) errors.push(missingBody(definition));
  } else if (validators.body !== undefined) {
    if (definition.rawBody === true) call.rawBody = await readAll(context, services.bodies);
    call.body = await readBody(context, definition, services.bodies);
    if (isJsonObject(call.body)) context.state.bodyFields = Object.keys(call.body).slice(0, 64);
    errors.push(...(call.body === undefined ? [missingBody(definition)] : validators.body(call.body)));
  }
  if (errors.length > 0) throw (definition.refuse ?? refuse)(errors, call.body, call.query);
  return call;
}

function refuse(errors: readonly FieldError[]): Error {
  return KernelErrors.invalidRequest(undefined, { errors });
}

/** The body of a request; `undefined` where it has none and the route needs one. */
async function readBody(
  context: Context,
  { bodyOptional, bodyType }: Route,
  bodies: BodyBudget,
): Promise<unknown> {
  const isText = bodyType === 'text';
  const read = isText ? readPlainText : readJson;
  const body = await read(exchangeOf(context, bodies), bodyLimitOf(context.state));
  if (body !== undefined || !bodyOptional) return body;
  return isText ? '' : {};
}

/** All bytes of the body, for a handler that gets them too. */
async function readAll(context: Context, bodies: BodyBudget): Promise<Buffer> {
  const bytes = (await readRaw(exchangeOf(context, bodies), bodyLimitOf(context.state))) ?? Buffer.alloc(0);
  context.state.bytes = Promise.resolve(bytes);
  return bytes;
}

/** An absent body is not an empty object: the caller has not asked for what a route does with that. */
function missingBody({ bodyType }: Route): FieldError {
  return {
    pointer: '/body',
    message: bodyType === 'raw' ? 'is missing' : `is missing: send one as ${BODY_TYPES[bodyType ?? 'json']}`,
  };
}

const notFound = (): Promise<void> => Promise.reject(KernelErrors.pathNotFound());

/** One HTTP request as a handler sees it. */
class HttpCall extends StateCall<RequestState> {
  // Assigned by the handler stage from what the validators passed; the route's schemas type them.
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
  target = '/';
  rawBody: Buffer | undefined;
}
