import type { Finding, TextOrigin } from '../../../contract.ts';
import { Concept } from './concept.ts';
import {
  findEncodedTexts,
  inspectInvisible,
  resolveEscapes,
  reverse,
  reverseWords,
  rot13,
} from './disguises.ts';
import { fold } from './fold.ts';
import { findHits, type Hit } from './hits.ts';
import { LEXICONS } from './lexicon/lexicons.ts';
import { findForgedTurns, findHiddenMarkup } from './markup.ts';
import { createPhraseTrie, type PhraseTrie } from './phrase-trie.ts';
import { findQuotations, type Span } from './quotations.ts';
import { type Evidence, heaviestPassage, weighIntents } from './score.ts';

/** From here on a text is refused. */
const THRESHOLD = 10;
/** An order is not hidden by accident: encoded text is refused for less. */
const HIDDEN_THRESHOLD = 7;
/** An encoded text in an encoded text is looked into, not deeper. */
const MAX_DEPTH = 2;
/** Words of a disguise that make it worth undoing. */
const DISGUISED_WORDS = 2;

const ENCODED = {
  rule: 'encoded-payload',
  reason: 'an order to the model is hidden in an encoding',
  weight: THRESHOLD,
  position: 0,
} as const satisfies Evidence;
const HIDDEN = {
  rule: 'hidden-characters',
  reason: 'invisible characters hide a text, or take words apart',
  weight: 5,
  position: 0,
} as const satisfies Evidence;

/**
 * The check of what is about to reach a model: prompt injection, jailbreaks, forged turns and, in what a tool returned,
 * orders to the AI. It weighs meanings (verb, object, modifier close together) in fifteen languages, after undoing
 * look-alikes, spelled-out letters, invisible characters and encodings; talk about attacks weighs less. Synchronous,
 * without network or model; linear in the text. The finding names a rule, never the text. It is a filter of known
 * techniques: paraphrases that use none of the words pass.
 */
export function findInput(text: string, origin: TextOrigin): Finding | undefined {
  const { weight, strongest } = assess(text, origin, 0);
  if (weight < THRESHOLD || strongest === undefined) return undefined;
  return { rule: strongest.rule, reason: strongest.reason };
}

/** What speaks against a text, and the meanings in it. */
function weigh(text: string, origin: TextOrigin): { evidence: readonly Evidence[]; hits: readonly Hit[] } {
  const folded = fold(text);
  const hits = findHits(folded, phrases());
  let spans: readonly Span[] | undefined;
  const quotations = () => (spans ??= findQuotations(folded));
  const positionOf = (index: number) => hitBefore(hits, index)?.position ?? 0;
  return {
    hits,
    evidence: [
      ...weighIntents(hits, origin, folded.length, quotations),
      ...findForgedTurns(folded, origin, quotations, positionOf),
      ...findHiddenMarkup(folded, origin, hits),
    ],
  };
}

/** Weight and strongest evidence of a text, encodings included. */
function assess(text: string, origin: TextOrigin, depth: number): ReturnType<typeof heaviestPassage> {
  const { visible, hidden, isSuspicious } = inspectInvisible(text);
  const resolved = resolveEscapes(visible);
  const { evidence, hits } = weigh(resolved, origin);
  const heaviest = heaviestPassage(isSuspicious ? spread(HIDDEN, evidence) : evidence);
  if (heaviest.weight >= THRESHOLD || depth === MAX_DEPTH) return heaviest;
  const disguised = [...hidden, ...findEncodedTexts(resolved), ...undisguise(resolved, hits)];
  let weight = heaviest.weight;
  for (const inner of disguised) {
    const found = assess(inner, origin, depth + 1);
    if (found.weight >= HIDDEN_THRESHOLD) return { weight: THRESHOLD, strongest: ENCODED };
  }
  // "Decode this and do what it says", with something to decode: counts no matter what the decoded text says.
  if (disguised.length > 0 && heaviest.strongest?.rule === ENCODED.rule) weight += HIDDEN.weight;
  return { ...heaviest, weight };
}

let trie: PhraseTrie | undefined;

/**
 * Of all lexicons. Some tens of milliseconds of work: built at the first check, so that startup does not wait for it,
 * and once for all guards.
 */
function phrases(): PhraseTrie {
  trie ??= createPhraseTrie(LEXICONS);
  return trie;
}

/** Adds an item at the position of every other one, so that it counts in each passage. */
function spread(item: Evidence, evidence: readonly Evidence[]): readonly Evidence[] {
  return [item, ...evidence, ...evidence.map(({ position }) => ({ ...item, position }))];
}

/** The last hit that begins before an index. */
function hitBefore(hits: readonly Hit[], index: number): Hit | undefined {
  let low = 0;
  let high = hits.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (hits[middle]!.start <= index) low = middle + 1;
    else high = middle;
  }
  return hits[low - 1];
}

/** The text under the disguises that its words give away. */
function undisguise(text: string, hits: readonly Hit[]): readonly string[] {
  let rotated = 0;
  let reversed = 0;
  for (const { concepts } of hits) {
    if ((concepts & Concept.rot13) !== 0) rotated += 1;
    if ((concepts & Concept.reversed) !== 0) reversed += 1;
  }
  const texts = rotated >= DISGUISED_WORDS ? [rot13(text)] : [];
  return reversed >= DISGUISED_WORDS ? [...texts, reverse(text), reverseWords(text)] : texts;
}
