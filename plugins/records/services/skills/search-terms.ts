import { recentMap } from 'agent-gateway';

/** Words that every text is full of: they say nothing about what it is about. */
const STOP_WORDS = new Set(
  `a about above after again all also am an and any anyone are as at away be because been before being below between both but by call came can cannot come could
  did do does doing done each either else every everyone for from further get gets give goes going gone good got had has have having he hello her here hers hey
  hi him his how i if im in into is isnt it its ive just know let lets like ll lot made make makes many maybe me might mine more most much must my myself
  need needs new no nobody nor not nothing now of off ok okay old on once one ones only or other others our ours out over own per please put quite rather
  really right said same say says see seem shall she should since so some someone something soon stuff such sure take than thank thanks that the their
  theirs them then there these they thing things think this those though through till to too try two under until up upon us use used using
  ve very want wants was way we well went were what whatever when where whether which while who whom whose why will with within without wont would yes yet you
  your yours yourself yesterday`.split(/\s+/),
);

/** What makes other forms of a word, longest first, and what is put in its place. */
const SUFFIXES: readonly (readonly [suffix: string, instead: string])[] = [
  ['ization', 'ize'],
  ['isation', 'ize'],
  ['ational', 'ate'],
  ['iveness', ''],
  ['fulness', ''],
  ['ation', 'ate'],
  ['ition', 'ite'],
  ['ement', ''],
  ['ingly', ''],
  ['edly', ''],
  ['ment', ''],
  ['ness', ''],
  ['able', ''],
  ['ible', ''],
  ['ance', ''],
  ['ence', ''],
  ['ing', ''],
  ['ion', ''],
  ['ive', ''],
  ['ed', ''],
  ['ly', ''],
  ['er', ''],
  ['or', ''],
  ['al', ''],
];
/** Letters that a word keeps at least. */
const LEAST_STEM = 3;

/** Characters of a word; a longer one is none. */
const LONGEST = 40;

/** The terms of words: most words are said again and again. */
const known = recentMap<string>(10_000);

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII, which needs no folding
const PLAIN = /^[\x00-\x7f]*$/;
/** Scripts that put no space between words. The long vowel of Katakana is of no script. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}`;
/** A word with the marks on its letters, which in many scripts are vowels; or a run of a script without spaces. */
const WORD = new RegExp(
  String.raw`[[\p{L}\p{N}]--[${UNSPACED}]][[\p{L}\p{N}\p{M}'’]--[${UNSPACED}]]*|[${UNSPACED}][${UNSPACED}\p{M}]*`,
  'gv',
);
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'v');
/** Accents of Latin, Greek and Cyrillic letters. */
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * The words of a text in their order, each without its endings, so that "planning", "plans" and "planned" are one;
 * without numbers and without the words that every text is full of. The endings are those of English; words of other
 * languages are the same as long as they are written the same, and of scripts without spaces every pair of neighbouring
 * characters is a term. Pure.
 */
export function termsOf(text: string): readonly string[] {
  const isPlain = PLAIN.test(text);
  const folded = (isPlain ? text : text.toWellFormed().normalize('NFKD').replace(ACCENTS, '')).toLowerCase();
  const terms: string[] = [];
  for (const word of folded.match(WORD) ?? []) {
    if (!isPlain && IS_UNSPACED.test(word)) {
      for (const pair of pairsOf(word)) terms.push(pair);
      continue;
    }
    let term = known.get(word);
    if (term === undefined) {
      term = termOf(word);
      if (word.length <= LONGEST) known.set(word, term);
    }
    if (term !== '') terms.push(term);
  }
  return terms;
}

/** The pairs of neighbouring characters of a run; a character that stands alone says too little. */
function pairsOf(run: string): readonly string[] {
  const characters = [...run.normalize('NFC')];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** The term that a word is; the empty text for one that says nothing. */
function termOf(found: string): string {
  const word = found.replace(/['’]s?$|['’]/g, '');
  const isEmpty = word.length < 2 || word.length > LONGEST || STOP_WORDS.has(word) || /^\d+$/.test(word);
  return isEmpty ? '' : stemOf(word);
}

/**
 * What the forms of a word have in common. Words of unlike meaning may share it: it is made for finding, not for
 * reading. Pure.
 */
export function stemOf(word: string): string {
  if (word.length <= LEAST_STEM) return word;
  return withoutEnd(withoutSuffix(singular(word)));
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
}

function withoutSuffix(word: string): string {
  for (const [suffix, instead] of SUFFIXES) {
    if (word.endsWith(suffix) && word.length - suffix.length >= LEAST_STEM) {
      return word.slice(0, -suffix.length) + instead;
    }
  }
  return word;
}

/** Decide and decid(ing), study and studi(es), plan and plann(ed), estimate and estimat(ion). */
function withoutEnd(word: string): string {
  if (word.length <= LEAST_STEM) return word;
  let stem = word.endsWith('e') ? word.slice(0, -1) : word;
  if (stem.endsWith('y')) stem = `${stem.slice(0, -1)}i`;
  if (/([bdfgmnprt])\1$/.test(stem)) stem = stem.slice(0, -1);
  return stem.length > 4 && stem.endsWith('at') ? stem.slice(0, -2) : stem;
}
