/** Bytes of each unit. `MB` and `MiB` are the same: 1 MB is 1,048,576 bytes (decisions 0.5). */
const UNITS = { K: 1024, M: 1024 ** 2, G: 1024 ** 3 } as const;

/** What a size looks like, also for editors (JSON Schema). */
export const SIZE_PATTERN = '^(?:\\d+ ?[Bb]?|\\d+(?:\\.\\d+)? ?[KMGkmg][Ii]?[Bb])$';

const SIZE = new RegExp(SIZE_PATTERN);
const PARTS = /^([\d.]+) ?([KMG])?/i;
const MAX_LENGTH = 64;

/** Reads a size (`512`, `64 KiB`, `1MB`, `1.5GiB`). Returns whole bytes, or undefined when the text is no size. */
export function parseSize(text: string): number | undefined {
  if (text.length > MAX_LENGTH || !SIZE.test(text)) return undefined;
  const [, amount, prefix] = PARTS.exec(text) ?? [];
  const unit = prefix === undefined ? 1 : UNITS[prefix.toUpperCase() as keyof typeof UNITS];
  const bytes = Math.round(Number(amount) * unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The text of a size in its largest whole unit: `1MiB`, `1500B`. `parseSize` reads it back as the same number. */
export function formatSize(bytes: number): string {
  for (const unit of ['G', 'M', 'K'] as const) {
    if (bytes > 0 && bytes % UNITS[unit] === 0) return `${bytes / UNITS[unit]}${unit}iB`;
  }
  return `${bytes}B`;
}
