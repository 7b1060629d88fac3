import type { Embeddings } from '../../contract.ts';

const DIMENSIONS = 512;
/** Change it with every change to the vectors: stored ones are then not compared with new ones. */
const VERSION = 'hash-v1';

/**
 * The built-in embeddings: feature hashing of words and trigrams. They are lexical: texts are alike that share words,
 * or parts of words, in any order; of synonyms and other languages they know nothing. Offline, pure, the same on every
 * machine, about 0.1 ms a sentence. Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning
 * (2009)
 */
export function createHashEmbeddings(): Embeddings {
  return {
    id: `${VERSION}:${DIMENSIONS}`,
    async embed(texts, signal) {
      signal.throwIfAborted();
      return texts.map(hashText);
    },
  };
}

/** A text's vector. A text of which nothing is left has one too, the same for all such texts. */
function hashText(text: string): Float32Array {
  const vector = new Float64Array(DIMENSIONS);
  for (const [feature, weight] of textFeatures(text)) {
    const hash = hash32(feature);
    const place = hash % DIMENSIONS;
    // The sign makes features that share a place cancel out on average, instead of adding up to likeness.
    vector[place] = vector[place]! + (hash >>> 31 === 1 ? -weight : weight);
  }
  if (vector.every((value) => value === 0)) vector[0] = 1;
  return toUnit(vector);
}

/**
 * The vector in its direction with length 1; a vector without a length stays as it is. A new one: nothing is changed.
 */
export function toUnit(vector: ArrayLike<number>): Float32Array {
  let squares = 0;
  for (let index = 0; index < vector.length; index += 1) squares += vector[index]! ** 2;
  const length = Math.sqrt(squares);
  return Float32Array.from(vector, (value) => (length === 0 ? value : value / length));
}

/** FNV-1a over UTF-16 code units, finished as in MurmurHash3, since FNV alone spreads short texts badly. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * A text as providers get it: models take 8,191 tokens or so and refuse longer texts as a whole; servers refuse empty
 * ones.
 */
export function sentText(text: string): string {
  return text.slice(0, 8_000).toWellFormed().trim() || ' ';
}

/** Characters of a text that count. Longer texts differ only by their beginning. */
const LOOKED_AT_CHARS = 100_000;
/** Words from this length on count fully: the words that every text is full of are short. */
const FULL_LENGTH = 6;
/** A trigram's share of a word's weight: together they see inflections and misspellings, alone they mean little. */
const TRIGRAM_WEIGHT = 0.4;

/** A letter or digit with the marks on it. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
/** Scripts that are written without spaces: a run of them is no word, but each character says something. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
/** Accents of Latin, Greek and Cyrillic letters. */
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * What a text is made of, with weights: its words, and the trigrams of their letters. Case, accents, and different ways
 * to write the same characters (Unicode's compatibility forms) make no difference. How often something occurs counts by
 * its logarithm. A text without a word is made of its characters. Pure and deterministic.
 */
function textFeatures(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, { count: number; weight: number }>();
  const add = (feature: string, weight: number) => {
    const known = counts.get(feature);
    if (known === undefined) counts.set(feature, { count: 1, weight });
    else known.count += 1;
  };
  const folded = fold(text.slice(0, LOOKED_AT_CHARS));
  for (const [word] of folded.matchAll(WORD)) {
    if (UNSPACED.test(word)) addCharacters(word, add);
    else addWord(word, add);
  }
  if (counts.size === 0) addCharacters(folded.trim(), add);
  return new Map(
    [...counts].map(([feature, { count, weight }]) => [feature, weight * (1 + Math.log(count))]),
  );
}

function fold(text: string): string {
  return text.toWellFormed().normalize('NFKD').replace(ACCENTS, '').normalize('NFC').toLowerCase();
}

type Add = (feature: string, weight: number) => void;

function addWord(word: string, add: Add): void {
  const letters = [...word];
  const weight = Math.min(1, letters.length / FULL_LENGTH);
  add(`w:${word}`, weight);
  const marked = ['^', ...letters, '$'];
  for (let index = 0; index + 3 <= marked.length; index += 1) {
    add(`t:${marked.slice(index, index + 3).join('')}`, weight * TRIGRAM_WEIGHT);
  }
}

function addCharacters(run: string, add: Add): void {
  const characters = [...run];
  for (const [index, character] of characters.entries()) {
    add(`c:${character}`, 0.5);
    const next = characters[index + 1];
    if (next !== undefined) add(`p:${character}${next}`, 1);
  }
}
