import type { ErrorKind } from '../base/gateway-error.ts';

/** HTTP status of each kind of error (specification 1, Errors; decisions 0.1). 499: the client closed the request. */
export const HTTP_STATUS: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  conflict: 409,
  gone: 410,
  'precondition-failed': 412,
  'too-large': 413,
  'unsupported-media': 415,
  'expectation-failed': 417,
  'range-not-satisfiable': 416,
  'rate-limited': 429,
  'headers-too-large': 431,
  'client-closed': 499,
  internal: 500,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
};
