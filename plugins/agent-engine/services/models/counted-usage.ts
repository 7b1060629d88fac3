import type { Usage } from '../../contract.ts';

/**
 * A provider's usage, where both of its counts are counts; undefined else, which is as if the provider had not counted: a broken number
 * must not become a bill or spoil a metric, and is no reason to refuse a whole answer. Pure.
 */
export function countedUsage(usage: Usage | null | undefined): Usage | null | undefined {
  if (usage === null || usage === undefined) return usage;
  const isCounted = isCount(usage.prompt_tokens) && isCount(usage.completion_tokens);
  return isCounted ? usage : undefined;
}

/** No call comes near the bound, which is also that of a usage record's column. */
function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
}
