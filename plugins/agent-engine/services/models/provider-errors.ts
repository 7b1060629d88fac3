import { createRedaction, type GatewayError } from 'agent-gateway';
import { ModelErrors } from '../../contract.ts';
import { jsonIn } from '../json-text.ts';
import type { ResponseHead } from './http-exchange.ts';
import { RETRYABLE_STATUSES } from './retry.ts';

/** `Retry-After` of a 429 for which the provider sent none. */
const DEFAULT_RETRY_AFTER_SECONDS = 5;
const LONGEST_RETRY_AFTER_SECONDS = 86_400;

/**
 * The error for a response that is not a success: 400 is the caller's mistake and says why, 429 stays 429, everything
 * else is an upstream failure of which the caller learns the status alone. The codes by which clients decide stay what
 * they are: a conversation that is too long, a filter, a used-up quota. The provider's sentence goes, sanitized, into
 * `cause`, for the operator's log.
 *
 * @param body the beginning of the response body
 * @param retryAfterMs the parsed `Retry-After`
 */
export function statusFailure(
  head: ResponseHead,
  body: string,
  retryAfterMs: number | undefined,
  redact: Redact,
): GatewayError {
  const { status } = head;
  const said = readError(body);
  const message = redact(said.message ?? '');
  const cause = new Error(`The provider answered ${status}${message === '' ? '' : `: ${message}`}`);
  const wait = Math.min(LONGEST_RETRY_AFTER_SECONDS, Math.ceil((retryAfterMs ?? 0) / 1000));
  const headers = retryAfterMs === undefined ? undefined : { 'retry-after': String(wait) };
  if (status === 400) {
    const param = said.param === undefined ? undefined : redact(said.param);
    const detail = message === '' ? undefined : `The model provider rejected the request: ${message}`;
    return (REJECTIONS.get(said.code) ?? ModelErrors.rejected)(detail, { cause, param, retryable: false });
  }
  if (status === 429 && said.code === ModelErrors.insufficientQuota.definition.code) {
    return ModelErrors.insufficientQuota(undefined, { cause, headers, retryable: false });
  }
  if (status === 429) {
    const retryAfter = { 'retry-after': String(DEFAULT_RETRY_AFTER_SECONDS), ...headers };
    return ModelErrors.rateLimited(undefined, { cause, headers: retryAfter });
  }
  if (status === 404 && said.message !== undefined) {
    return ModelErrors.unknownToProvider(undefined, { cause, retryable: false });
  }
  const isFinal = status < 500 && headers === undefined && !RETRYABLE_STATUSES.has(status);
  const meaning = MEANINGS.get(status);
  const detail = `The model provider answered with status ${status}${meaning === undefined ? '' : `: ${meaning}`}.`;
  return ModelErrors.upstream(detail, {
    cause,
    headers,
    ...(isFinal && { retryable: false }),
  });
}

/** Statuses that are about what was sent, in our words: who sent it learns what to change. */
const MEANINGS: ReadonlyMap<number, string> = new Map([
  [413, 'the request is too large for it; shorten the conversation or what is attached to it'],
  [422, 'it cannot process what the request holds'],
]);

/** Refusals that clients distinguish from any other, by the provider's code. */
const REJECTIONS = new Map<unknown, typeof ModelErrors.rejected>(
  [ModelErrors.contextLengthExceeded, ModelErrors.contentFilter].map((error) => [
    error.definition.code,
    error,
  ]),
);

/** The error for an answer, plain or streamed, that holds an `error` member in spite of a success status. */
export function streamFailure(error: unknown, redact: Redact): GatewayError {
  const message = redact(readMessage(error) ?? '');
  return ModelErrors.upstream('The model provider reported an error while answering.', {
    cause: new Error(`The provider reported${message === '' ? ' an error' : `: ${message}`}`),
  });
}

/** The error for an answer that cannot be understood. `what` is ours, no text of the provider. */
export function malformed(what: string): GatewayError {
  return ModelErrors.upstream(`The model provider's answer was malformed: ${what}.`);
}

/** The error for a connection that could not be made or broke. The original's text goes, sanitized, into `cause`. */
export function connectionFailure(
  error: Error & { code?: string },
  hasBegun: boolean,
  redact: Redact,
): GatewayError {
  const code = typeof error.code === 'string' ? error.code : error.name;
  // A new error on purpose: parser errors carry pieces of the response, socket errors the whole socket.
  const cause = new Error(redact(`${code}: ${error.message}`));
  const detail = hasBegun
    ? 'The connection to the model provider broke while it was answering.'
    : 'The model provider did not answer: the connection failed.';
  return ModelErrors.upstream(detail, { cause });
}

/** The sentence, the code and the field in the error bodies of the common servers: OpenAI, vLLM, FastAPI, Ollama. */
function readError(body: string): { message?: string; param?: string; code?: unknown } {
  const value = jsonIn(body);
  if (typeof value !== 'object' || value === null) return {};
  const { error, message, detail } = value as { error?: unknown; message?: unknown; detail?: unknown };
  const { param, code } = Object(error) as { param?: unknown; code?: unknown };
  return {
    message: readMessage(error) ?? readMessage(message) ?? readMessage(detail),
    code,
    ...(typeof param === 'string' && { param }),
  };
}

function readMessage(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const message = (value as { message?: unknown } | undefined | null)?.message;
  return typeof message === 'string' ? message : undefined;
}

/** Makes a text of a provider fit for logs and errors. */
export type Redact = (text: string) => string;

const MARK = '[redacted]';
const MAX_CHARS = 500;
/** A shorter "key" is a placeholder such as `x`; replacing it would only garble the text. */
const SHORTEST_SECRET = 4;
const KEY_LIKE = /\b(?:sk|pk|rk|hk)[-_][A-Za-z0-9_*.-]{4,}|\bBearer\s+\S+/gi;

/**
 * A function that takes the key, masked keys, and credentials of every kind that is redacted in answers out of a text,
 * turns control characters into spaces, and caps its length at 500 characters. Providers like to repeat the credential
 * they refuse.
 */
export function createRedact(apiKey = ''): Redact {
  const { redact } = createRedaction();
  // As it is sent.
  const key = apiKey.trim();
  return (text) => {
    const clean = redact(key.length < SHORTEST_SECRET ? text : text.replaceAll(key, MARK))
      .replace(KEY_LIKE, MARK)
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim();
    return clean.length <= MAX_CHARS ? clean : `${clean.slice(0, MAX_CHARS - 1).toWellFormed()}…`;
  };
}
