/**
 * The features by which a task is recognized: hashes of its words, each once. Their number is bounded, and so is the
 * information in them: each stands for many words and names of the world's languages, so that a hash does not reveal
 * the word that was written.
 */
export type Features = readonly number[];

/** Characters of a task that are read. */
const MAX_TEXT = 4_000;
const MAX_FEATURES = 64;
const BITS = 20;

/** Quoted material, which differs each time. An opening quote ends the search for the end of the one before it. */
const QUOTED = /```[\s\S]*?(?:```|$)|`[^`]*`|"[^"]*"|“[^“”]*”|«[^«»]*»/gu;
/** Scripts that put no space between words: pairs of characters stand for words. */
const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer']
  .map((name) => `\\p{scx=${name}}`)
  .join('');
const IS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');
/** What stands between spaces, and between such a script and another. Read once, however long it is. */
const TOKENS = new RegExp(`[${UNSPACED}]+|[^\\s${UNSPACED}]+`, 'gu');
/** In a token that differs each time: addresses, names of files, everything with a digit. */
const VARIES = /@|:\/\/|\d/u;
const WORDS = /\p{L}[\p{L}\p{M}'’]*/gu;

/** The features of a task's text, the same on every replica. Pure. */
export function featuresOf(text: string): Features {
  const known = new Set<number>();
  const plain = text.slice(0, MAX_TEXT).normalize('NFKC').replace(QUOTED, ' ').toLowerCase();
  const tokens = plain.match(TOKENS)?.filter((token) => !VARIES.test(token)) ?? [];
  for (const word of tokens.flatMap((token) => token.match(WORDS) ?? [])) {
    if (STOP_WORDS.has(word)) continue;
    for (const term of IS_UNSPACED.test(word) ? pairs(word) : [stem(word)]) {
      if (term.length > 1) known.add(hash(term));
      if (known.size >= MAX_FEATURES) return [...known];
    }
  }
  return [...known];
}

function pairs(word: string): readonly string[] {
  const characters = [...word];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/**
 * A word without the most common English endings, so that its forms become one. Words of other languages need not be
 * stemmed correctly.
 */
function stem(word: string): string {
  if (word.length < 5) return word.replace(/['’]s?$/, '');
  return word.replace(/['’]s?$/, '').replace(/(?:ings?|edly|ed|ies|es|s|e)$/, '');
}

/** FNV-1a over UTF-16 units, folded to 20 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value ^= text.charCodeAt(index);
    value = Math.imul(value, 0x01000193);
  }
  return ((value >>> BITS) ^ value) & ((1 << BITS) - 1);
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'the an and or of to in on at by for with from into is are was were be been being am do does did doing have has had having it its this that ' +
    'these those you your yours we our ours us me my mine he him his she her hers they them their what which who whom when where why how can ' +
    'could would should will shall may might must not no yes as if then than so but about there here also just only very please thank kindly ' +
    'hi hello hey dear need want like give get tell let ' +
    'der die das und oder von zu im ein eine einen ist sind war bitte ich du wir ihr sie mir mich uns auf mit für den dem ' +
    'le la les un une des et ou de du en est sont je tu nous vous il elle pour avec dans sur que qui ' +
    'el los las una unos y de del es son yo tú por para con en que'
  ).split(' '),
);
