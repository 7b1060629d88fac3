import type { Clock } from './clock.ts';

/** Milliseconds between two reports of one kind. */
const EVERY_MS = 60_000;

/**
 * Reports something that others may cause as often as they like: the first time at once, then once a minute at most,
 * with how often it happened since the last report.
 */
export function seldom<D>(
  clock: Clock,
  report: (detail: D, count: number) => void,
): (detail: D, count?: number) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let unreported = 0;
  return (detail, count = 1) => {
    unreported += count;
    const now = clock.monotonic();
    if (now - reportedAt < EVERY_MS) return;
    reportedAt = now;
    report(detail, unreported);
    unreported = 0;
  };
}
