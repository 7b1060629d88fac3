import type { Embeddings } from '../../contract.ts';
import { textFeatures } from './text-features.ts';
import { toUnit } from './vector.ts';

const DIMENSIONS = 512;
/** Changes with every change of what vectors come out: stored ones are then not compared with new ones. */
const VERSION = 'hash-v1';

/**
 * The built-in embeddings: feature hashing of words and trigrams. They are lexical: texts are alike that share words, or parts of words, in any
 * order; of synonyms and other languages they know nothing. Offline, pure, the same on every machine, about 0.1 ms a sentence.
 * Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning (2009)
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
