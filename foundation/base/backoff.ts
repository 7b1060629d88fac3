/** Bounds of a growing delay, in milliseconds. */
export interface BackoffBounds {
  readonly first: number;
  readonly most: number;
}

/**
 * The delay after the `failures`-th failure in a row: it doubles from `first` to `most`, and a random half of it is taken
 * off, so that replicas do not come back all at once.
 *
 * @param random a number from 0 to 1
 */
export function backoffDelay(failures: number, { first, most }: BackoffBounds, random: number): number {
  const full = Math.min(first * 2 ** Math.min(failures - 1, 30), most);
  return full * (1 - random / 2);
}
