import type { TextOrigin } from '../../../contract.ts';
import { Concept } from './concept.ts';
import type { Hit } from './hits.ts';
import { INTENTS, type Intent, NEGATION } from './intents.ts';

/** An intent that a text expresses. */
export interface IntentMatch {
  readonly intent: Intent;
  /** The first and the last hit of it, as indexes of the list. */
  readonly from: number;
  readonly to: number;
  readonly anchor: number;
}

const ANCHORS = INTENTS.reduce((bits, intent) => bits | intent.anchor, 0);
/** More hits than this close together are noise, or an attempt to make the check slow. */
const MAX_AROUND = 48;
const NEAR_OWNER = 4;

/** Every intent in a list of hits. Linear: around each hit a bounded number of others is looked at. Pure. */
export function matchIntents(hits: readonly Hit[], origin: TextOrigin): readonly IntentMatch[] {
  const matches: IntentMatch[] = [];
  for (let anchor = 0; anchor < hits.length; anchor += 1) {
    const { concepts } = hits[anchor]!;
    if ((concepts & ANCHORS) === 0) continue;
    for (const intent of INTENTS) {
      if ((concepts & intent.anchor) === 0) continue;
      if (intent.origin !== undefined && intent.origin !== origin) continue;
      const match = matchAt(hits, anchor, intent);
      if (match !== undefined) matches.push(match);
    }
  }
  return matches;
}

function matchAt(hits: readonly Hit[], anchor: number, intent: Intent): IntentMatch | undefined {
  const { position, concepts } = hits[anchor]!;
  let from = anchor;
  let to = anchor;
  for (const wanted of intent.near) {
    // A phrase may hold anchor and object at once; two of a kind must be two.
    if ((concepts & wanted & ~intent.anchor) !== 0) continue;
    let found = -1;
    if (intent.side !== 'before') found = seek(hits, anchor, 1, position + intent.within, wanted);
    if (found < 0 && intent.side !== 'after')
      found = seek(hits, anchor, -1, position - intent.within, wanted);
    if (found < 0) return undefined;
    from = Math.min(from, found);
    to = Math.max(to, found);
  }
  if (intent.negatable === true && isNegated(hits, anchor)) return undefined;
  return { intent, from, to, anchor };
}

/** The next hit in a direction, up to a position, that means one of the wanted; -1 for none. */
function seek(hits: readonly Hit[], anchor: number, step: 1 | -1, limit: number, wanted: number): number {
  for (let index = anchor + step, seen = 0; index >= 0 && index < hits.length; index += step, seen += 1) {
    const { position, concepts } = hits[index]!;
    if (seen === MAX_AROUND || (step === 1 ? position > limit : position < limit)) return -1;
    if ((concepts & wanted) !== 0) return index;
  }
  return -1;
}

function isNegated(hits: readonly Hit[], anchor: number): boolean {
  const limit = hits[anchor]!.position - NEGATION.within;
  return seek(hits, anchor, -1, limit, NEGATION.concept) >= 0;
}

/** True when the user speaks of his own words: "my" or "I said" between the match's ends, or right before it where the verb is last. */
export function isOwn(hits: readonly Hit[], { intent, from, to }: IntentMatch): boolean {
  for (let index = from; index <= to; index += 1) if ((hits[index]!.concepts & Concept.my) !== 0) return true;
  if (intent.side !== 'before') return false;
  return seek(hits, from, -1, hits[from]!.position - NEAR_OWNER, Concept.my) >= 0;
}
