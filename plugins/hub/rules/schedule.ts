import { parseDuration } from 'agent-gateway';

/** Attempts of one delivery. */
export const ATTEMPTS = 6;
/** What an attempt comes late at most, as a part of its delay: subscribers that come back are not met by all at once. */
const JITTER = 0.2;
const MAX_DELAY_MS = 24 * 3_600_000;

/** Milliseconds of the five delays between six attempts; undefined for texts that are not five durations of up to a day. Pure. */
export function readBackoff(texts: readonly string[]): readonly number[] | undefined {
  const delays = texts.map(parseDuration);
  const isGood = (delay: number | undefined) => delay !== undefined && delay >= 1 && delay <= MAX_DELAY_MS;
  return delays.length === ATTEMPTS - 1 && delays.every(isGood) ? (delays as number[]) : undefined;
}

/**
 * Milliseconds until the next attempt after `failed` ones; undefined after the last. Pure.
 *
 * @param random 0 to 1
 * @param asked milliseconds that the subscriber wants to be left alone for, an hour of which is granted
 */
export function delayAfter(
  failed: number,
  backoff: readonly number[],
  random: number,
  asked = 0,
): number | undefined {
  const delay = backoff[failed - 1];
  if (delay === undefined) return undefined;
  return Math.round(Math.max(delay, Math.min(asked, 3_600_000)) * (1 + JITTER * random));
}
