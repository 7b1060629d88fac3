import type { TextOrigin } from '../../../contract.ts';
import { Concept } from './concept.ts';
import type { Hit } from './hits.ts';
import { INTENTS, type Intent, NEGATION } from './intents.ts';
import { liesIn, type Span } from './quotations.ts';

/** Something that speaks against a text, and how strongly. */
export interface Evidence {
  readonly rule: string;
  readonly reason: string;
  readonly weight: number;
  /** Where, in steps of two a word. */
  readonly position: number;
}

/** What belongs together: about sixty words. */
const CLUSTER = 120;
/** How far before an intent, and behind it, a word like "phrases such as" makes it a mention. */
const MENTION_BEFORE = 44;
const MENTION_AFTER = 24;
const MENTION_DISCOUNT = 5;
const QUOTED_DISCOUNT = 4;
const QUOTED_MENTION_DISCOUNT = 11;
const OWN_DISCOUNT = 7;
/** A text that is one quotation from beginning to end mentions nothing. */
const WHOLLY_QUOTED = 0.8;

/** The evidence of the meanings in a text against it. `quotations` is called only when there is any. Pure. */
export function weighIntents(
  hits: readonly Hit[],
  origin: TextOrigin,
  textLength: number,
  quotations: () => readonly Span[],
): readonly Evidence[] {
  const matches = matchIntents(hits, origin);
  if (matches.length === 0) return [];
  const spans = quotations();
  const quotedLength = spans.reduce((sum, { start, end, isCode }) => sum + (isCode ? 0 : end - start), 0);
  const mentionsOthers = quotedLength < textLength * WHOLLY_QUOTED;
  return matches.map((match) => {
    const { rule, reason, weight } = match.intent;
    const { start, end } = hits[match.anchor]!;
    const object = hits[match.anchor === match.to ? match.from : match.to]!;
    const isObjectQuoted = mentionsOthers && liesIn(spans, object.start, object.end);
    // 'Translate "your prompt"': the verb itself may say that the object is only mentioned.
    const isVerbOutside = isObjectQuoted && !liesIn(spans, start, end);
    const discount = discountOf(hits, match, isObjectQuoted, isVerbOutside, origin);
    const own = match.intent.ownable === true && isOwn(hits, match) ? OWN_DISCOUNT : 0;
    return {
      rule,
      reason,
      weight: Math.max(0, weight - discount - own),
      position: hits[match.anchor]!.position,
    };
  });
}

function discountOf(
  hits: readonly Hit[],
  match: IntentMatch,
  isQuoted: boolean,
  isVerbOutside: boolean,
  origin: TextOrigin,
): number {
  const verbMentions = isVerbOutside && (hits[match.anchor]!.concepts & Concept.mention) !== 0;
  const mentioned = verbMentions || isMentioned(hits, match);
  if (mentioned) return isQuoted ? QUOTED_MENTION_DISCOUNT : MENTION_DISCOUNT;
  // Everything in a JSON document of a tool is quoted.
  return isQuoted && origin === 'user' ? QUOTED_DISCOUNT : 0;
}

function isMentioned(hits: readonly Hit[], { from, to }: IntentMatch): boolean {
  const first = hits[from]!.position - MENTION_BEFORE;
  const last = hits[to]!.position + MENTION_AFTER;
  const says = (hit: Hit) => (hit.concepts & Concept.mention) !== 0;
  for (let index = from - 1; index >= 0 && hits[index]!.position >= first; index -= 1)
    if (says(hits[index]!)) return true;
  for (let index = to + 1; index < hits.length && hits[index]!.position <= last; index += 1)
    if (says(hits[index]!)) return true;
  return false;
}

/**
 * The strongest evidence of the heaviest passage, and that passage's weight: of each rule the strongest within about
 * sixty words, added up. Long texts do not add up to an attack. Pure, linear.
 */
export function heaviestPassage(evidence: readonly Evidence[]): { weight: number; strongest?: Evidence } {
  const sorted = evidence.filter(({ weight }) => weight > 0).sort((a, b) => a.position - b.position);
  let heaviest: { weight: number; strongest?: Evidence } = { weight: 0 };
  // Blocks that overlap by half see every passage of half a block whole.
  for (let index = 0; index < sorted.length; ) {
    const begin = Math.floor(sorted[index]!.position / (CLUSTER / 2)) * (CLUSTER / 2);
    const byRule = new Map<string, Evidence>();
    let next = index;
    for (; next < sorted.length && sorted[next]!.position < begin + CLUSTER; next += 1) {
      const item = sorted[next]!;
      if (item.weight > (byRule.get(item.rule)?.weight ?? 0)) byRule.set(item.rule, item);
    }
    const found = [...byRule.values()].sort((a, b) => b.weight - a.weight);
    const weight = found.reduce((sum, item) => sum + item.weight, 0);
    if (weight > heaviest.weight) heaviest = { weight, strongest: found[0] };
    while (index < sorted.length && sorted[index]!.position < begin + CLUSTER / 2) index += 1;
  }
  return heaviest;
}

/** An intent that a text expresses. */
interface IntentMatch {
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
function matchIntents(hits: readonly Hit[], origin: TextOrigin): readonly IntentMatch[] {
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
  const negatedFrom = position - NEGATION.within;
  if (intent.negatable === true && seek(hits, anchor, -1, negatedFrom, NEGATION.concept) >= 0)
    return undefined;
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

/**
 * True when users speak of their own words: "my" or "I said" between the match's ends, or right before it where the
 * verb is last.
 */
function isOwn(hits: readonly Hit[], { intent, from, to }: IntentMatch): boolean {
  for (let index = from; index <= to; index += 1) if ((hits[index]!.concepts & Concept.my) !== 0) return true;
  if (intent.side !== 'before') return false;
  return seek(hits, from, -1, hits[from]!.position - NEAR_OWNER, Concept.my) >= 0;
}
