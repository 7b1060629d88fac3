/** Bounds of a growing delay, in milliseconds. */
export interface BackoffBounds {
  readonly first: number;
  readonly most: number;
}

/**
 * The delay after the `failures`-th failure in a row (1 or more), in milliseconds: it doubles from `first` to `most`.
 *
 * @param random a number from 0 to 1: up to a half of the delay is taken off, so that replicas do not come back all at once. Default 0: the whole delay
 */
export function backoffDelay(failures: number, { first, most }: BackoffBounds, random = 0): number {
  const full = Math.min(first * 2 ** Math.min(failures - 1, 30), most);
  return full * (1 - random / 2);
}
