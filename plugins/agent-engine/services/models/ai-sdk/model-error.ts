import { AISDKError, APICallError, LoadAPIKeyError } from '@ai-sdk/provider';
import { GatewayError } from 'agent-gateway';
import { ModelErrors } from '../../../contract.ts';
import { malformed, statusFailure, streamFailure } from '../provider-errors.ts';
import type { Redact } from '../redact.ts';
import { parseRetryAfter } from '../retry.ts';

/** How deep our own error may be wrapped; the AI SDK wraps what its `fetch` throws once or twice. */
const DEEPEST = 6;

/** What an adapter says of requests that its provider could never take. Told to the caller, who can change the request. */
const CALLERS_MISTAKES = new Set([
  'AI_InvalidArgumentError',
  'AI_InvalidMessageRoleError',
  'AI_InvalidPromptError',
  'AI_UnsupportedFunctionalityError',
]);

/**
 * What an AI SDK provider has thrown, as an error of the catalogue: our own connection's error that it wraps, the status that it
 * names, a request that it cannot send, or else a failure of the provider. Its words go, sanitized, into `cause`; only those
 * about the request itself reach the caller.
 *
 * @param now Unix milliseconds, for a `Retry-After` that is a date
 */
export function toModelError(error: unknown, redact: Redact, now: number): GatewayError {
  const own = findOwn(error);
  if (own !== undefined) return own;
  if (APICallError.isInstance(error)) return callFailure(error, redact, now);
  const words = redact(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  if (LoadAPIKeyError.isInstance(error)) {
    const cause = new Error(words);
    return ModelErrors.upstream('The gateway has no key for the model provider.', {
      cause,
      retryable: false,
    });
  }
  if (AISDKError.isInstance(error) && CALLERS_MISTAKES.has(error.name)) {
    const detail = `The model provider cannot be asked this: ${redact(error.message)}`;
    return ModelErrors.rejected(detail, { retryable: false });
  }
  return ModelErrors.upstream(undefined, { cause: new Error(words) });
}

/** The error for an `error` part of a stream, which providers fill with anything. */
export function toStreamError(error: unknown, redact: Redact, now: number): GatewayError {
  return error instanceof Error ? toModelError(error, redact, now) : streamFailure(error, redact);
}

function callFailure(error: APICallError, redact: Redact, now: number): GatewayError {
  const { statusCode: status = 0, responseHeaders: headers = {} } = error;
  // A status of success is one whose answer the adapter could not read.
  if (status < 300) return malformed('the adapter could not read it');
  const body = error.responseBody ?? JSON.stringify({ error: { message: error.message } });
  return statusFailure({ status, headers }, body, parseRetryAfter(headers['retry-after'], now), redact);
}

function findOwn(error: unknown): GatewayError | undefined {
  let current = error;
  for (let depth = 0; depth < DEEPEST && current instanceof Error; depth += 1) {
    if (current instanceof GatewayError) return current;
    current = current.cause;
  }
  return undefined;
}
