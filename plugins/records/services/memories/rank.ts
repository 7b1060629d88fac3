import { setImmediate as turn } from 'node:timers/promises';
import type { Memory, ScoredMemory } from '../../contract.ts';
import { likeness } from './vectors.ts';
import { wordFit, wordsOf } from './words.ts';

/** Memories that are scored at a stretch: others are served in between. */
const STRETCH = 100;
/** What words alone can bring. */
const WORDS_WEIGHT = 0.5;

/** What is looked for. */
export interface Wanted {
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
 * How well a memory fits, 0 to 1: the likeness of the vectors, and on top of it up to half of what is missing to 1 for shared words. Each of
 * the two can only add.
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
  const scored: ScoredMemory[] = [];
  for (const [index, { memory, vector }] of candidates.entries()) {
    if (index > 0 && index % STRETCH === 0) await turn();
    const alike = wanted.vector === undefined || vector === undefined ? 0 : likeness(wanted.vector, vector);
    const fit = score(alike, wordFit(asked, wordsOf(`${memory.key} ${memory.value}`)));
    if (fit >= wanted.threshold) scored.push({ ...memory, score: fit });
  }
  return scored.sort((a, b) => b.score - a.score).slice(0, wanted.limit);
}
