import { backoffDelay } from 'agent-gateway';

/** When a failed attempt is tried again. Only attempts of which nothing was delivered are. */
export interface RetrySettings {
  /** Attempts after the first one. Default 2. */
  readonly retries: number;
  /** The first backoff's upper bound in milliseconds; it doubles with each retry. Default 500. */
  readonly baseMs: number;
  /** The upper bound of every backoff in milliseconds. Default 8,000. */
  readonly maxBackoffMs: number;
  /**
   * The longest `Retry-After` that is waited for, in milliseconds; a longer one fails the call at once. Default 10,000.
   */
  readonly maxRetryAfterMs: number;
}

/** What applies where a deployment sets nothing. */
export const DEFAULT_RETRY: RetrySettings = {
  retries: 2,
  baseMs: 500,
  maxBackoffMs: 8000,
  maxRetryAfterMs: 10_000,
};

/**
 * Statuses that may go away by themselves; 409 (lock timeout) as OpenAI's own libraries have it, 529 is Anthropic's
 * overload.
 */
export const RETRYABLE_STATUSES = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);

/**
 * Failures to get a response at all, by their `code`. A kept-alive connection that the provider has just closed is one
 * of them.
 */
export const RETRYABLE_CODES = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/**
 * Milliseconds to wait before the next attempt, undefined to give up. Exponential backoff with full jitter; with a
 * `Retry-After` that time plus a jitter, since all callers that got the same time would come back together.
 *
 * @param attempt attempts made so far, 1 or more
 * @param retryAfterMs what the provider asked for, if it did
 * @param random a number in [0, 1)
 */
export function nextDelay(
  settings: RetrySettings,
  attempt: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined {
  if (attempt > settings.retries) return undefined;
  if (retryAfterMs !== undefined) {
    return retryAfterMs > settings.maxRetryAfterMs ? undefined : retryAfterMs + random * settings.baseMs;
  }
  return random * backoffDelay(attempt, { first: settings.baseMs, most: settings.maxBackoffMs });
}
