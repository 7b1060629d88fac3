import type { UsageRow, UsageTotals } from '../../contract.ts';
import type { UsageSums } from '../../store/usage/usage-sums.ts';
import { dollarsOfParts } from './dollars.ts';

/** Sums of no records. */
export const NO_USAGE: UsageSums = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  estimated: 0,
  costMicros: 0,
  costPicos: 0,
  count: 0,
});

/** The sums of a report's line. */
export function toTotals(sums: UsageSums): UsageTotals {
  return {
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    cacheReadTokens: sums.cacheReadTokens,
    cacheWriteTokens: sums.cacheWriteTokens,
    costUsd: dollarsOfParts({ micros: sums.costMicros, picos: sums.costPicos }),
    requests: sums.count,
    estimatedRequests: sums.estimated,
  };
}

/**
 * The sums of days as lines of a report, oldest first. `dateOf` says in which line a day belongs. The integers of the days are added,
 * so that a month is exactly what its days are together.
 */
export function toLines(
  days: readonly (UsageSums & { readonly day: string })[],
  dateOf: (day: string) => string,
): readonly UsageRow[] {
  const lines = new Map<string, UsageSums>();
  for (const { day, ...sums } of days) {
    const date = dateOf(day);
    lines.set(date, plus(lines.get(date) ?? NO_USAGE, sums));
  }
  return [...lines]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([date, sums]) => ({ date, ...toTotals(sums) }));
}

function plus(a: UsageSums, b: UsageSums): UsageSums {
  const names = Object.keys(NO_USAGE) as (keyof UsageSums)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as UsageSums;
}
