import type { StreamRedactor } from '../../../foundation/redaction/redactor.ts';

/** What a redactor makes of each piece, the last entry being that of its end. */
export function feed(redactor: StreamRedactor, pieces: readonly string[]): string[] {
  return [...pieces.map((piece) => redactor.push(piece)), redactor.end()];
}

/** The text, cut at these positions. */
export function cut(text: string, positions: readonly number[]): string[] {
  const at = [...new Set(positions.map((position) => position % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((position, index) => text.slice(position, at[index]));
}
