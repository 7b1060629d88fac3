import { parseDuration } from 'agent-gateway';
import { GRAPH_LIMITS } from './limits.ts';

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
