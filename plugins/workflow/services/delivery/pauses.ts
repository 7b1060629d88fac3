/** Milliseconds before the next attempt, by the attempts that failed; the last one holds from then on. */
const PAUSES = [1, 5, 30, 120, 300, 900, 1_800, 3_600].map((seconds) => seconds * 1_000);

/** Milliseconds, by the database's clock, after which events that a sink does not take are given up: three days. */
export const GIVE_UP_MS = 3 * 86_400_000;

/** How long events wait after so many attempts that failed, 1 or more. Milliseconds. Pure. */
export function pauseAfter(attempts: number): number {
  return PAUSES[Math.min(Math.max(1, attempts), PAUSES.length) - 1]!;
}
