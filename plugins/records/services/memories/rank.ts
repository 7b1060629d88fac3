import { mapWithPauses } from 'agent-gateway';
import type { Memory, ScoredMemory } from '../../contract.ts';

/** What words alone can bring. */
const WORDS_WEIGHT = 0.5;

/** Characters of a text that are looked at. */
const MAX_TEXT = 2000;
/** Words of a text that count; later ones add nothing to the comparison of short texts. */
const MAX_WORDS = 300;

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts that put no blanks between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** What is looked for. */
interface Wanted {
  readonly query: string;
  /** The query's vector; undefined while the embeddings do not answer. */
  readonly vector: Float32Array | undefined;
  readonly limit: number;
  /** Scores below it are left out. */
  readonly threshold: number;
}

/** A memory and its vector, if it has one that can be compared with the query's. */
export interface Candidate {
  readonly memory: Memory;
  readonly vector: Float32Array | undefined;
}

/**
 * How well a memory fits, 0 to 1: the similarity of the vectors, and on top of it, for shared words, up to half of the
 * difference to 1. Each of the two can only add.
 */
export function score(likenessOfVectors: number, sharedWords: number): number {
  return 1 - (1 - likenessOfVectors) * (1 - WORDS_WEIGHT * sharedWords);
}

/** The memories that fit best, best first; of equals the one that comes first. */
export async function rank(
  candidates: readonly Candidate[],
  wanted: Wanted,
): Promise<readonly ScoredMemory[]> {
  const asked = wordsOf(wanted.query);
  const scored = await mapWithPauses(candidates, ({ memory, vector }) => {
    const alike = wanted.vector === undefined || vector === undefined ? 0 : likeness(wanted.vector, vector);
    return { ...memory, score: score(alike, wordFit(asked, wordsOf(textOf(memory)))) };
  });
  const fitting = scored.filter((memory) => memory.score >= wanted.threshold);
  return fitting.sort((a, b) => b.score - a.score).slice(0, wanted.limit);
}

/** So many of the memories, those that share most words with the query; of equals those that come first. */
export async function fittest<T extends { readonly memory: Memory }>(
  stored: readonly T[],
  query: string,
  most: number,
): Promise<readonly T[]> {
  const asked = wordsOf(query);
  const fits = await mapWithPauses(stored, (one) => ({
    one,
    fit: wordFit(asked, wordsOf(textOf(one.memory))),
  }));
  return fits
    .sort((a, b) => b.fit - a.fit)
    .slice(0, most)
    .map(({ one }) => one);
}

/** What a memory is found by: its value, and its key unless that is an id, which means nothing. */
export function textOf({ id, key, value }: Memory): string {
  return key === id ? value : `${key}\n${value}`;
}

/**
 * The distinct words at the beginning of a text, in lower case. Of scripts without blanks every pair of neighbouring
 * characters is a word. Pure, in linear time.
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

/**
 * The bytes of a vector, as they are kept: float32, little-endian (as every machine that Node runs on has them in
 * memory).
 */
export function toBytes(vector: Float32Array): Buffer {
  return Buffer.from(Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
}

/** The vector of such bytes; undefined for bytes that are none. */
export function toVector(bytes: Uint8Array): Float32Array | undefined {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  // A copy: bytes of a row may begin anywhere, numbers only at multiples of four.
  const vector = new Float32Array(bytes.length / 4);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

/**
 * How alike two vectors of length 1 are: their cosine, 0 where it is negative, unknown, or they have different sizes.
 */
export function likeness(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0;
  let sum = 0;
  for (let index = 0; index < one.length; index += 1) sum += one[index]! * other[index]!;
  return sum > 0 ? Math.min(1, sum) : 0;
}
