import type { Clock } from './clock.ts';

/**
 * Logs something that clients or other systems may cause at any rate: the first time at once, then once in `everyMs`
 * milliseconds at most (default: a minute), with how often it happened since the last time.
 */
export function throttledLog<D = void>(
  clock: Pick<Clock, 'monotonic'>,
  log: (detail: D, count: number) => void,
  everyMs = 60_000,
): (detail: D, count?: number) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (detail, count = 1) => {
    unlogged += count;
    const now = clock.monotonic();
    if (now - loggedAt < everyMs) return;
    loggedAt = now;
    log(detail, unlogged);
    unlogged = 0;
  };
}

/** `throttledLog` for each of several things, told apart by a key. There have to be few: each key is kept. */
export function throttledLogs<D = void>(
  clock: Pick<Clock, 'monotonic'>,
  log: (key: string, detail: D, count: number) => void,
  everyMs?: number,
): (key: string, detail: D, count?: number) => void {
  const logs = new Map<string, ReturnType<typeof throttledLog<D>>>();
  return (key, detail, count) => {
    let one = logs.get(key);
    if (one === undefined) {
      one = throttledLog<D>(clock, (latest, times) => log(key, latest, times), everyMs);
      logs.set(key, one);
    }
    one(detail, count);
  };
}
