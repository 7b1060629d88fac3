import { setImmediate } from 'node:timers/promises';
import type { Clock } from 'agent-gateway';

/** Work on one list that goes on without a pause, in milliseconds. */
const STRETCH_MS = 10;

/**
 * Maps a list, and yields to other work when that takes long: records of runs may be as large as their authors make
 * them, and every text in them is scanned.
 */
export async function mapYielding<T, R>(
  items: readonly T[],
  map: (item: T) => R,
  clock: Pick<Clock, 'monotonic'>,
): Promise<R[]> {
  const results: R[] = [];
  let since = clock.monotonic();
  for (const item of items) {
    results.push(map(item));
    if (clock.monotonic() - since < STRETCH_MS) continue;
    await setImmediate();
    since = clock.monotonic();
  }
  return results;
}
