/** Bounds of a growing delay, in milliseconds. */
export interface BackoffBounds {
  readonly first: number;
  readonly most: number;
}

/**
 * The delay after the `failures`-th failure in a row (1 or more), in milliseconds: it doubles from `first` to `most`.
 *
 * @param random a number from 0 to 1: up to a half of the delay is taken off, so that replicas do not come back all at
 * once. Default 0: the whole delay
 */
export function backoffDelay(failures: number, { first, most }: BackoffBounds, random = 0): number {
  const full = Math.min(first * 2 ** Math.min(failures - 1, 30), most);
  return full * (1 - random / 2);
}

/**
 * What a `Retry-After` header asks for, in milliseconds from `now` (Unix milliseconds): seconds or an HTTP date (RFC
 * 9110, 10.2.3), a date in the past is 0. Undefined for anything else.
 */
export function parseRetryAfter(value: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Z][a-z]+, .*GMT$/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
