import { defineErrors, GatewayError } from './gateway-error.ts';

/** The errors that the kernel itself raises. Plugins keep catalogues of their own. */
export const KernelErrors = defineErrors({
  invalidRequest: { code: 'request.invalid', kind: 'invalid', title: 'The request is not valid' },
  malformedBody: { code: 'request.malformed', kind: 'invalid', title: 'The body cannot be read' },
  malformedRequest: {
    code: 'request.not-http',
    kind: 'invalid',
    title: 'The request is not well-formed HTTP',
  },
  headersTooLarge: {
    code: 'request.headers-too-large',
    kind: 'headers-too-large',
    title: 'The headers of the request are too large',
  },
  requestTimeout: {
    code: 'request.timeout',
    kind: 'request-timeout',
    title: 'The request did not come to its end in time',
  },
  expectationFailed: {
    code: 'request.expectation',
    kind: 'expectation-failed',
    title: 'What the request expects cannot be met',
  },
  bodyTooLarge: { code: 'request.too-large', kind: 'too-large', title: 'The body is too large' },
  unsupportedMedia: {
    code: 'request.unsupported-media',
    kind: 'unsupported-media',
    title: 'The content type is not accepted here',
  },
  unsupportedEncoding: {
    code: 'request.unsupported-encoding',
    kind: 'unsupported-media',
    title: 'The compression is not accepted here',
  },
  /** Carries `retry-after`. */
  starting: { code: 'gateway.starting', kind: 'unavailable', title: 'The gateway is still starting' },
  pathNotFound: { code: 'path.not-found', kind: 'not-found', title: 'There is nothing at this path' },
  methodNotAllowed: {
    code: 'path.method-not-allowed',
    kind: 'method-not-allowed',
    title: 'The path does not take this method',
  },
  rateLimited: { code: 'limit.rate', kind: 'rate-limited', title: 'Too many requests' },
  tooManyStreams: { code: 'limit.streams', kind: 'rate-limited', title: 'Too many open streams' },
  overloaded: {
    code: 'gateway.overloaded',
    kind: 'unavailable',
    title: 'The gateway cannot take more work now',
  },
  /** Carries `retry-after`. */
  unavailable: {
    code: 'gateway.unavailable',
    kind: 'unavailable',
    title: 'A part that this needs is away',
    retryAfter: 5,
  },
  clientClosed: { code: 'request.client-closed', kind: 'client-closed', title: 'The client went away' },
  draining: { code: 'gateway.draining', kind: 'unavailable', title: 'The plugin or the gateway is stopping' },
  internal: { code: 'internal', kind: 'internal', title: 'Something went wrong inside the gateway' },
});

/**
 * Any thrown value, as an error that may be shown. One that is no error of ours becomes `internal` with a fixed text;
 * the original stays in `cause`, for the log alone.
 */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return KernelErrors.internal(undefined, { cause: thrown });
}
