import { estimateTokens } from '../../contract.ts';

/**
 * The beginning of a text that fits into `maxTokens` (estimated): whole lines; where not even the first line fits, whole words of it; where it
 * has no words, whole characters. Pure.
 */
export function fitText(text: string, maxTokens: number): string {
  // A token takes no fewer than a quarter of a character, so this much never fits; it bounds the work for any input.
  const beginning = text.slice(0, Math.max(0, maxTokens) * 4 + 1);
  if (beginning.length === text.length && estimateTokens(text) <= maxTokens) return text;
  const lines = longestPrefix(beginning, maxTokens, '\n');
  if (lines.trim() !== '') return lines;
  const start = beginning.trimStart();
  return longestPrefix(start, maxTokens, ' ') || wholeCharacters(start, maxTokens);
}

/** No UTF-16 unit is more than one token. */
function wholeCharacters(text: string, maxTokens: number): string {
  const end = Math.max(0, maxTokens);
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(end - 1));
  return text.slice(0, isSplit ? end - 1 : end);
}

/** The longest prefix before a separator that fits. */
function longestPrefix(text: string, maxTokens: number, separator: string): string {
  let tokens = 0;
  let end = 0;
  while (end < text.length) {
    const next = text.indexOf(separator, end + 1);
    // Without a separator behind it, it is not known whether a piece is whole.
    if (next === -1) break;
    // Each piece is rounded up, so the sum is never too small.
    tokens += estimateTokens(text.slice(end, next));
    if (tokens > maxTokens) break;
    end = next;
  }
  return text.slice(0, end);
}
