import { relatedTerms } from './related-terms.ts';

/** A searched item, and how much each of its terms says about it. */
export interface IndexedItem<T> {
  readonly item: T;
  readonly terms: ReadonlyMap<string, number>;
}

/** How rare terms are, and how long items: what weights are measured by. */
export interface Corpus {
  /** Greater for a term that fewer items have. */
  rarity(term: string): number;
  readonly averageLength: number;
}

/** An inverted index. */
export interface SkillIndex<T> {
  readonly corpus: Corpus;
  /**
   * How well each item fits the terms of a query with their weights; items that do not fit at all, or score less than
   * `least`, are missing.
   */
  score(query: ReadonlyMap<string, number>, least?: number): readonly (readonly [item: T, score: number])[];
}

/** How slowly repetitions of a term lose weight: bodies repeat their words often. */
const SATURATION = 8;
/** How much a long item is held against it, from 0 to 1. */
const LENGTH_SHARE = 0.5;
/** The weight of a related term, relative to the term itself. */
const RELATED = 0.5;

/**
 * Makes an index by BM25 with weighted fields, in which a term also finds terms of related meaning. A corpus of another
 * index makes scores comparable with it. Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25
 * and Beyond (2009)
 */
export function createSkillIndex<T>(items: readonly IndexedItem<T>[], given?: Corpus): SkillIndex<T> {
  const corpus = given ?? corpusOf(items);
  const postings = postingsOf(items, corpus);
  // Bounded by the vocabulary of the items and of the related terms: other terms find nothing, and are not kept.
  const known = new Map<string, Posting>();

  function bestOf(term: string): Posting {
    const found = known.get(term);
    if (found !== undefined) return found;
    const best = merged(term, postings);
    if (best.places.length > 0) known.set(term, best);
    return best;
  }

  return {
    corpus,
    score(query, least = 0) {
      const scores = new Float64Array(items.length);
      for (const [term, weight] of query) {
        const { places, weights } = bestOf(term);
        for (let index = 0; index < places.length; index += 1) {
          const place = places[index]!;
          scores[place] = scores[place]! + weight * weights[index]!;
        }
      }
      const found: [T, number][] = [];
      // Most questions share a common word with most items, and score well with a few.
      for (let place = 0; place < scores.length; place += 1) {
        const score = scores[place]!;
        if (score > 0 && score >= least) found.push([items[place]!.item, score]);
      }
      return found;
    },
  };
}

/** The items that have a term, by their places, and what it says about each. */
interface Posting {
  readonly places: number[];
  readonly weights: number[];
}

const NOTHING: Posting = { places: [], weights: [] };

function postingsOf(items: readonly IndexedItem<unknown>[], corpus: Corpus): ReadonlyMap<string, Posting> {
  const postings = new Map<string, Posting>();
  for (const [place, { terms }] of items.entries()) {
    const length = lengthOf(terms) / corpus.averageLength;
    const norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length);
    for (const [term, count] of terms) {
      const { places, weights } = postings.get(term) ?? { places: [], weights: [] };
      places.push(place);
      weights.push((corpus.rarity(term) * count * (SATURATION + 1)) / (count + norm));
      postings.set(term, { places, weights });
    }
  }
  return postings;
}

/** The best of the term itself and its relatives for each item: an item with many of them scores no higher. */
function merged(term: string, postings: ReadonlyMap<string, Posting>): Posting {
  const best = new Map<number, number>();
  const take = (name: string, share: number) => {
    const { places, weights } = postings.get(name) ?? NOTHING;
    for (const [index, place] of places.entries()) {
      best.set(place, Math.max(best.get(place) ?? 0, share * weights[index]!));
    }
  };
  take(term, 1);
  for (const related of relatedTerms(term)) take(related, RELATED);
  return { places: [...best.keys()], weights: [...best.values()] };
}

function corpusOf(items: readonly IndexedItem<unknown>[]): Corpus {
  const counts = new Map<string, number>();
  let length = 0;
  for (const { terms } of items) {
    length += lengthOf(terms);
    for (const term of terms.keys()) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return {
    averageLength: items.length === 0 ? 1 : Math.max(1, length / items.length),
    rarity(term) {
      const count = counts.get(term) ?? 0;
      return Math.log(1 + (items.length - count + 0.5) / (count + 0.5));
    },
  };
}

function lengthOf(terms: ReadonlyMap<string, number>): number {
  let length = 0;
  for (const count of terms.values()) length += count;
  return length;
}
