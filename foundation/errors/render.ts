import type { ErrorKind, FieldError, GatewayError } from '../base/gateway-error.ts';
import { pointerPath } from '../base/json-pointer.ts';
import { HTTP_STATUS } from './status.ts';

/** The shape in which errors are reported (decisions 0.1). */
export type ErrorDialect = 'problem' | 'openai' | 'coze';

/**
 * The shape of errors where no route names one: a problem that clients of OpenAI and Coze can read as well, since their
 * users mistake paths most often.
 */
export type AnyDialect = ErrorDialect | 'any';

/** An error as it goes over the wire. */
export interface RenderedError {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** Renders an error in a dialect (decisions 0.1). `requestId` links the answer to logs, audit and traces. */
export function renderError(error: GatewayError, dialect: AnyDialect, requestId: string): RenderedError {
  const status = HTTP_STATUS[error.kind];
  const headers = errorHeaders(error);
  // Coze's clients take the id of a request from here: where they asked for a stream, those for Node read no body of an
  // error.
  if (dialect === 'coze' || dialect === 'any') headers['x-tt-logid'] = requestId;
  return {
    status,
    contentType: ERROR_TYPES[dialect],
    headers,
    body: BODIES[dialect](error, status, requestId),
  };
}

/** The content type of errors. */
export const ERROR_TYPES: Readonly<Record<AnyDialect, string>> = {
  any: 'application/problem+json',
  problem: 'application/problem+json',
  openai: 'application/json; charset=utf-8',
  coze: 'application/json; charset=utf-8',
};

const BODIES = { any: anyBody, problem: problemBody, openai: openAiBody, coze: cozeBody } as const;

/**
 * The headers of an error (of gRPC: trailers). Clients that retry automatically must not repeat what can only fail, or
 * take effect, a second time.
 */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = { ...error.extras.headers };
  const retryable = error.extras.retryable ?? error.kind !== 'conflict';
  if (!retryable) headers['x-should-retry'] = 'false';
  // RFC 9110, 15.5.2: a 401 says how to authenticate.
  if (error.kind === 'unauthenticated') headers['www-authenticate'] ??= 'Bearer';
  return headers;
}

/** An error as problem details, for answers that contain it in something else. Pure. */
export function problemOf(error: GatewayError, requestId: string): object {
  return problemBody(error, HTTP_STATUS[error.kind], requestId);
}

/** RFC 9457 problem details; `instance` is the request id, `code` is stable. */
function problemBody(error: GatewayError, status: number, requestId: string): object {
  return {
    type: 'about:blank',
    title: error.title,
    status,
    detail: error.detail,
    instance: requestId,
    code: error.code,
    ...(error.extras.errors === undefined ? {} : { errors: error.extras.errors }),
  };
}

function anyBody(error: GatewayError, status: number, requestId: string): object {
  return { ...problemBody(error, status, requestId), ...openAiBody(error), msg: messageWithFields(error) };
}

/** `{error: {message, type, param, code}}`, as OpenAI's clients read it. */
function openAiBody(error: GatewayError): object {
  return {
    error: {
      message: messageWithFields(error),
      type: TYPES[error.kind] ?? 'server_error',
      param: error.extras.param ?? firstParam(error.extras.errors),
      code: error.code,
    },
  };
}

const TYPES: Partial<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  'too-large': 'invalid_request_error',
  'unsupported-media': 'invalid_request_error',
  'range-not-satisfiable': 'invalid_request_error',
  'method-not-allowed': 'invalid_request_error',
  'expectation-failed': 'invalid_request_error',
  'request-timeout': 'invalid_request_error',
  conflict: 'invalid_request_error',
  gone: 'invalid_request_error',
  'precondition-failed': 'invalid_request_error',
  'client-closed': 'invalid_request_error',
  unauthenticated: 'authentication_error',
  forbidden: 'permission_error',
  'not-found': 'not_found_error',
  'rate-limited': 'rate_limit_error',
};

/** The dialects have no list of fields, so the sentence names them all. */
function messageWithFields(error: GatewayError): string {
  const { errors } = error.extras;
  if (errors === undefined || errors.length === 0) return error.detail;
  return `${error.detail.replace(/\.$/, '')}: ${errors.map((field) => `${nameOf(field)} ${field.message}`).join('; ')}`;
}

function firstParam(errors: readonly FieldError[] | undefined): string | null {
  return errors?.[0] === undefined ? null : nameOf(errors[0]);
}

/** Of the body itself: `body`. */
function nameOf(field: FieldError): string {
  return fieldPath(field) || field.pointer.slice(1);
}

/** `{code, msg, detail: {logid}}`, as Coze's clients read it. */
function cozeBody(error: GatewayError, _: number, requestId: string): object {
  return {
    code: cozeCode(error),
    msg: messageWithFields(error),
    detail: { logid: requestId },
  };
}

/**
 * The number of an error in the dialect `coze` (decisions 0.1), for answers that contain it in something else. Pure.
 */
export function cozeCode({ kind }: Pick<GatewayError, 'kind'>): number {
  const status = HTTP_STATUS[kind];
  return CODES[status] ?? (status < 500 ? 4000 : 5000);
}

const CODES: Readonly<Record<number, number>> = { 400: 4000, 401: 4100, 403: 4101, 404: 4200, 429: 4013 };

/** The path of a bad field without the place that it is in: `/body/messages/0/role` → `messages[0].role`. */
export function fieldPath({ pointer }: FieldError): string {
  const [, ...parts] = pointerPath(pointer);
  return parts.reduce(
    (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
    '',
  );
}
