import type { RetryPolicy } from '../graph/compiled-graph.ts';

/** How long a step waits after a failed attempt (1 for the first) until the next one, in milliseconds (decisions 2.6). */
export function retryDelay({ backoff, delayMs, maxDelayMs }: RetryPolicy, attempt: number): number {
  const delay = backoff === 'fixed' ? delayMs : delayMs * 2 ** (attempt - 1);
  return Math.min(delay, maxDelayMs);
}
