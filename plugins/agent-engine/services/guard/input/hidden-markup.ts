import type { TextOrigin } from '../../../contract.ts';
import { Concept } from './concept.ts';
import type { Hit } from './hits.ts';
import type { Evidence } from './score.ts';

/** Comments, and elements that a style makes invisible: what a page's reader does not see. */
const HIDDEN =
  /<!--|\[\/\/\]: ?#|(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?![.\d])|color ?: ?(?:white|#fff(?:fff)?\b|transparent)|aria-hidden ?= ?["']?true|left ?: ?-\d{3,5}px)[^<>]{0,200}>/g;
/** How far the hidden part is looked into. */
const MAX_LENGTH = 1000;
const ORDER =
  Concept.override |
  Concept.overrideLast |
  Concept.send |
  Concept.hide |
  Concept.call |
  Concept.fresh |
  Concept.role |
  Concept.reveal |
  Concept.revealLast;

/**
 * Evidence of orders in the invisible parts of a document: a comment or a hidden element that names an AI and tells it to do something.
 * Only what tools return is a document. Linear, pure.
 */
export function findHiddenMarkup(
  text: string,
  origin: TextOrigin,
  hits: readonly Hit[],
): readonly Evidence[] {
  if (origin !== 'tool') return [];
  const found: Evidence[] = [];
  let next = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const start = match.index;
    const isComment = match[0] === '<!--';
    const part = text.slice(start + match[0].length, start + match[0].length + MAX_LENGTH);
    const close = isComment ? part.indexOf('-->') : part.search(/<\/|\n\n/);
    const end = start + match[0].length + (close < 0 ? part.length : close);
    while (next < hits.length && hits[next]!.start < start) next += 1;
    let meanings = 0;
    let position = 0;
    for (let index = next; index < hits.length && hits[index]!.start < end; index += 1) {
      if (meanings === 0) position = hits[index]!.position;
      meanings |= hits[index]!.concepts;
    }
    if ((meanings & Concept.reader) === 0 || (meanings & ORDER) === 0) continue;
    const reason = 'a hidden part of a document gives orders to the AI that reads it';
    found.push({ rule: 'hidden-instructions', reason, weight: 7, position });
  }
  return found;
}
