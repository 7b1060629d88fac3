import { isJsonObject, parseDuration, Type } from 'agent-gateway';
import type { Json } from '../../contract/graph.ts';
import type { RetryPolicy } from './compiled-graph.ts';
import { GRAPH_LIMITS } from './graph-schema.ts';
import { ownMember } from './json.ts';

/** Defaults for members that a `retry` does not set. */
const DEFAULTS = { delay: '1s', maxDelay: '5m', backoff: 'exponential' } as const;

/** Member `retry` of the configuration of automatic nodes (decisions 2.6). */
export const RetryConfig = Type.Object(
  {
    max_attempts: Type.Integer({
      minimum: 1,
      maximum: GRAPH_LIMITS.attempts,
      description: 'Attempts in all, the first included',
    }),
    delay: Type.Optional(
      Type.String({ description: `Time before the second attempt; default ${DEFAULTS.delay}` }),
    ),
    backoff: Type.Optional(
      Type.Enum(['fixed', 'exponential'], {
        description: '`fixed`: always the same delay. `exponential`: each is twice the one before; default',
      }),
    ),
    max_delay: Type.Optional(
      Type.String({ description: `The longest delay; default ${DEFAULTS.maxDelay}, or the delay if longer` }),
    ),
  },
  {
    additionalProperties: false,
    description: 'How often a failed attempt is repeated; without it, it is not',
  },
);

/** Reads a checked `retry`. Throws for one that `checkGraph` refuses. */
export function readRetry(retry: Json): RetryPolicy {
  const attempts = isJsonObject(retry) ? ownMember(retry, 'max_attempts') : undefined;
  if (
    !isJsonObject(retry) ||
    typeof attempts !== 'number' ||
    !(attempts >= 1 && attempts <= GRAPH_LIMITS.attempts)
  ) {
    throw new Error('The retry of a node has no usable max_attempts.');
  }
  const delayMs = milliseconds(ownMember(retry, 'delay') ?? DEFAULTS.delay);
  const longest = ownMember(retry, 'max_delay');
  return {
    maxAttempts: attempts,
    delayMs,
    backoff: ownMember(retry, 'backoff') === 'fixed' ? 'fixed' : DEFAULTS.backoff,
    maxDelayMs:
      longest === undefined ? Math.max(delayMs, milliseconds(DEFAULTS.maxDelay)) : milliseconds(longest),
  };
}

/**
 * Milliseconds until the attempt after this one (1 for the first); undefined when it was the last (decisions 2.6).
 *
 * @param askedMs what the other side asked for: the delay is at least as long, and never longer than the policy's
 * longest
 */
export function retryDelay(
  policy: RetryPolicy | undefined,
  attempt: number,
  askedMs = 0,
): number | undefined {
  if (policy === undefined || attempt >= policy.maxAttempts) return undefined;
  const delay = policy.backoff === 'fixed' ? policy.delayMs : policy.delayMs * 2 ** (attempt - 1);
  return Math.min(Math.max(delay, askedMs), policy.maxDelayMs);
}

/** Members of a `retry` that are durations. */
export const RETRY_DURATIONS = ['delay', 'max_delay'] as const;

function milliseconds(written: unknown): number {
  const duration = readDuration(written, 0);
  if ('fault' in duration) throw new Error(`A duration of a retry ${duration.fault}`);
  return duration.milliseconds;
}

/** What a duration looks like, for messages. */
const FORM = 'Write a duration like "30s", "5m", "720h" or "7d"';

/**
 * Reads a duration of a graph (decisions 0.5) as milliseconds, or says what is wrong with it.
 *
 * @param least milliseconds that it has at least
 */
export function readDuration(
  written: unknown,
  least: number,
): { readonly milliseconds: number } | { readonly fault: string } {
  if (typeof written !== 'string') return { fault: `is no text. ${FORM}.` };
  const milliseconds = parseDuration(written);
  if (milliseconds === undefined) return { fault: `is no duration. ${FORM}.` };
  if (milliseconds < least) return { fault: `is too short. ${FORM}, at least ${least} ms.` };
  if (milliseconds > GRAPH_LIMITS.duration) return { fault: `is too long. ${FORM}, ten years at most.` };
  return { milliseconds };
}
