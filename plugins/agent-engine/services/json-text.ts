import { jsonExtent, parsedJson } from 'agent-gateway';

/**
 * What a text may hold: ten thousand tokens with twenty log probabilities each have as many parts, and are flat. 32 MiB
 * of brackets would occupy the process for many seconds, and what is nested deeper could not be written out again.
 */
const MAX_LEVELS = 256;
const MAX_PARTS = 2 * 1024 * 1024;
/** Characters that hold no more than that whatever they are: each level has a beginning and an end. */
const UNMEASURED = 2 * MAX_LEVELS;

/**
 * What a text of a model or a provider says as JSON; undefined for one that is no JSON, for they write anything, and
 * for one that is too deep or has too many parts.
 */
export function jsonIn(text: string): unknown {
  if (text.length > UNMEASURED) {
    const { levels, parts } = jsonExtent(text);
    if (levels > MAX_LEVELS || parts > MAX_PARTS) return undefined;
  }
  return parsedJson(text);
}
