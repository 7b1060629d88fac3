/** Milliseconds of each unit. `d` is a day of 24 hours; Go has none, deployments want it. */
const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

/** What a duration looks like, also for editors (JSON Schema). Linear: every group ends in a letter. */
export const DURATION_PATTERN = '^(?:\\d+(?:\\.\\d+)?(?:ms|s|m|h|d))+$|^\\d+(?:\\.\\d+)?$';

const WHOLE = new RegExp(DURATION_PATTERN);
const PART = /(\d+(?:\.\d+)?)(ms|[smhd])/g;
const BARE = /^\d+(?:\.\d+)?$/;
const MAX_LENGTH = 64;

/**
 * Reads a duration of Go's form (`30s`, `1h30m`, `720h`, `250ms`, `1.5h`, also `7d`); a bare number is seconds
 * (decisions 0.5). Returns whole milliseconds, or undefined when the text is no duration.
 */
export function parseDuration(text: string): number | undefined {
  if (text.length > MAX_LENGTH || !WHOLE.test(text)) return undefined;
  if (BARE.test(text)) return wholeMilliseconds(Number(text) * UNITS.s);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    total += Number(amount) * UNITS[unit as keyof typeof UNITS];
  }
  return wholeMilliseconds(total);
}

/** The shortest text that `parseDuration` reads back as the same number of milliseconds, hours at most: `1h30m`, `0s`. */
export function formatDuration(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const count = Math.floor(rest / UNITS[unit]);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * UNITS[unit];
  }
  return text === '' ? '0s' : text;
}

function wholeMilliseconds(value: number): number | undefined {
  const rounded = Math.round(value);
  return Number.isSafeInteger(rounded) ? rounded : undefined;
}
