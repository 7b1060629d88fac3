/** Words of a shingle: long enough that common phrases are no likeness. */
const WORDS = 5;

/** The runs of words of a text, each once. Pure. */
export function shinglesOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const shingles = new Set<string>();
  for (let at = 0; at + WORDS <= words.length; at += 1) shingles.add(words.slice(at, at + WORDS).join(' '));
  return shingles;
}

/** The share of the smaller text that stands in the other one, from 0 to 1. Pure. */
export function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const [small, large] = one.size <= other.size ? [one, other] : [other, one];
  if (small.size === 0) return 0;
  let shared = 0;
  for (const shingle of small) if (large.has(shingle)) shared += 1;
  return shared / small.size;
}
