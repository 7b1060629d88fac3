/** Characters of a text that are looked at. */
const MAX_TEXT = 2000;
/** Words of a text that count; later ones add nothing to the comparison of short texts. */
const MAX_WORDS = 300;

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts that put no blanks between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/**
 * The distinct words at the beginning of a text, in lower case. Of scripts without blanks every pair of neighbouring characters is a word.
 * Pure, in linear time.
 */
export function wordsOf(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [run] of text.slice(0, MAX_TEXT).normalize('NFKC').toLowerCase().matchAll(RUN)) {
    if (UNSPACED.test(run)) for (const pair of pairsOf(run)) words.add(pair);
    else words.add(run);
    if (words.size >= MAX_WORDS) break;
  }
  return words;
}

/** Which part of the words that were asked for a text holds, 0 to 1. */
export function wordFit(asked: ReadonlySet<string>, text: ReadonlySet<string>): number {
  if (asked.size === 0) return 0;
  let held = 0;
  for (const word of asked) if (text.has(word)) held += 1;
  return held / asked.size;
}

function pairsOf(run: string): readonly string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
