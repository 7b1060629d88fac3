import { parseDuration } from 'agent-gateway';

/** Attempts of one delivery. */
export const ATTEMPTS = 6;
/**
 * The random extra delay of an attempt at most, as a part of its delay: a subscriber that comes back does not get all
 * attempts at once.
 */
const JITTER = 0.2;
const MAX_DELAY_MS = 24 * 3_600_000;

/**
 * Milliseconds of the five delays between six attempts; undefined for texts that are not five durations of up to a day.
 * Pure.
 */
export function readBackoff(texts: readonly string[]): readonly number[] | undefined {
  const delays = texts.map(parseDuration);
  const isGood = (delay: number | undefined) => delay !== undefined && delay >= 1 && delay <= MAX_DELAY_MS;
  return delays.length === ATTEMPTS - 1 && delays.every(isGood) ? (delays as number[]) : undefined;
}

/**
 * Milliseconds until the next attempt after `failed` ones; undefined after the last. Pure.
 *
 * @param random 0 to 1
 * @param asked milliseconds for which the subscriber wants no attempt; at most an hour is granted
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
