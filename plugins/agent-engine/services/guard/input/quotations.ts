/** A part of a text, from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** True for a block of code. */
  readonly isCode?: boolean;
}

/** A longer text between quotation marks is not taken for a quotation. */
const MAX_QUOTATION = 600;
const MAX_FENCE = 20_000;
const CLOSING: Readonly<Record<string, string>> = {
  '"': '"',
  '“': '”"',
  '„': '“”"',
  '«': '»',
  '»': '«',
  '「': '」',
  '『': '』',
  '《': '》',
  '`': '`',
};
const BEFORE_PATTERN = /[\s([,=:]/;
const AFTER_SLASH = /[^\s/]/;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Quotations, code and quoted lines of mails in a text, in order, none inside another. Linear: each opening mark looks
 * a bounded way ahead. Pure.
 */
export function findQuotations(text: string): readonly Span[] {
  const spans: Span[] = [];
  let index = 0;
  while (index < text.length) {
    const end = endOfQuotation(text, index);
    if (end > index) {
      spans.push({ start: index, end, isCode: text.startsWith('```', index) });
      index = end;
    } else index += 1;
  }
  return spans;
}

function endOfQuotation(text: string, start: number): number {
  const mark = text[start]!;
  if (mark === '`' && text.startsWith('```', start)) {
    const close = indexWithin(text, '```', start + 3, MAX_FENCE);
    return close < 0 ? start : close + 3;
  }
  if (mark === '>' && (start === 0 || text[start - 1] === '\n')) {
    const close = indexWithin(text, '\n', start + 1, MAX_QUOTATION);
    return close < 0 ? Math.min(text.length, start + MAX_QUOTATION) : close;
  }
  if (mark === '/') return endOfPattern(text, start);
  if (mark === "'") return endOfSingleQuotation(text, start);
  const closing = CLOSING[mark];
  if (closing === undefined) return start;
  for (let index = start + 1; index < text.length && index - start <= MAX_QUOTATION; index += 1) {
    if (closing.includes(text[index]!)) return index + 1;
  }
  return start;
}

/** An apostrophe inside a word opens and closes nothing. */
function endOfSingleQuotation(text: string, start: number): number {
  if (WORD.test(text[start - 1] ?? '') || !WORD.test(text[start + 1] ?? '')) return start;
  for (let index = start + 2; index < text.length && index - start <= MAX_QUOTATION; index += 1) {
    if (text[index] === "'" && !WORD.test(text[index + 1] ?? '')) return index + 1;
  }
  return start;
}

/** A regular expression, as code of filters has them: on one line, behind a blank or a bracket. */
function endOfPattern(text: string, start: number): number {
  if (!BEFORE_PATTERN.test(text[start - 1] ?? '') || !AFTER_SLASH.test(text[start + 1] ?? '')) return start;
  for (let index = start + 2; index < text.length && index - start <= MAX_QUOTATION; index += 1) {
    if (text[index] === '\n') return start;
    if (text[index] === '/' && text[index - 1] !== '\\') return index + 1;
  }
  return start;
}

function indexWithin(text: string, wanted: string, from: number, limit: number): number {
  const found = text.slice(from, from + limit).indexOf(wanted);
  return found < 0 ? -1 : from + found;
}

/** Whether a part lies in one of the spans, which are in order. Pure. */
export function liesIn(spans: readonly Span[], start: number, end: number): boolean {
  let low = 0;
  let high = spans.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const span = spans[middle]!;
    if (start < span.start) high = middle - 1;
    else if (start >= span.end) low = middle + 1;
    else return end <= span.end;
  }
  return false;
}
