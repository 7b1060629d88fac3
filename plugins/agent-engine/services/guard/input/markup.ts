import type { TextOrigin } from '../../../contract.ts';
import { Concept } from './concept.ts';
import type { Hit } from './hits.ts';
import { liesIn, type Span } from './quotations.ts';
import type { Evidence } from './score.ts';

const RULE = 'fake-turn';
const REASON = 'imitates the markup of another turn of the conversation';

/** Control tokens of chat templates: ChatML, Llama, Mistral, Gemma, DeepSeek and their kin. */
const CONTROL_TOKEN =
  /<\|(?:im_start|im_end|im_sep|endoftext|end_of_text|begin_of_text|start_header_id|end_header_id|eot_id|eom_id|system|user|assistant|end|channel|message|start|endofprompt|begin▁of▁sentence|user▁|assistant▁)\|>|<(?:start|end)_of_turn>|\[\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<<\/?SYS>>/gi;
/** A control token that opens a turn of the system or the assistant. */
const OPENS_TURN =
  /<\|im_start\|>\s?(?:system|assistant|developer)|<\|start_header_id\|>\s?(?:system|assistant)|<<SYS>>|<\|(?:system|assistant)\|>|<start_of_turn>\s?(?:model|system)|\[SYSTEM_PROMPT\]/i;
/** A line that names a privileged speaker and speaks to the model. */
const SPEAKER_LINE =
  /^[ \t]{0,8}(?:[#*>=\-[({<|]{1,6}[ \t]?)?(?:new |begin |start |end of |updated )?(?:system|developer|admin(?:istrator)?|root|sysadmin|系统|系統|システム|시스템|система|sistema|système|systeem|النظام|सिस्टम)(?:[ _](?:message|prompt|override|notice|instruction|instructions|note|update|command|alert|nachricht|消息|提示|メッセージ|메시지))?[ \t]?[\])}>|*#]{0,4}[ \t]?[:：][ \t]*[*]{0,2}[ \t]*\n?[ \t]*(.{0,200})/gimu;
/** What such a line says when it is meant for a model rather than for a log. */
const TO_MODEL =
  /\b(?:you are (?:now|no longer|in|an?|authori[sz]ed|free|allowed|permitted)|you (?:must|will|can|may|shall|have been)|your (?:new|previous|instructions|guidelines|restrictions|rules|filters|safety)|ignore|disregard|from now on|the (?:user|assistant|model|ai) (?:is|has|must|will|can|may|should)|assistant|respond|comply|reveal|override|restrictions|unrestricted|developer mode|du bist|sie sind|tu es|eres|voc[eê]|sei|ты|jesteś|je bent)\b|你|あなた|당신|너는|أنت|तुम|आप|ты |режим/iu;
/** Elements that pretend to be the system's. */
const SYSTEM_ELEMENT =
  /<(system|system[-_]prompt|system[-_]message|admin|developer|instructions?|important)>[^<]{0,20}(.{0,200})/gis;
/** "Human:" and "Assistant:" as lines of their own: the turns of older templates. */
const TURN_LINE = /^[ \t]{0,4}(?:human|user|assistant|ai|ai assistant|chatgpt)[ \t]?:/gim;

/**
 * Evidence of forged turns: control tokens of chat templates, "System:" lines and elements that speak to the model.
 * Talk about them, in code or quotes, is none. `positionOf` says where a character stands, in steps of two a word.
 * Linear, pure.
 */
export function findForgedTurns(
  text: string,
  origin: TextOrigin,
  quotations: () => readonly Span[],
  positionOf: (index: number) => number,
): readonly Evidence[] {
  const found: Evidence[] = [];
  const add = (index: number, weight: number, quotedWeight: number) => {
    const quoted = origin === 'user' && liesIn(quotations(), index, index);
    found.push({
      rule: RULE,
      reason: REASON,
      weight: quoted ? quotedWeight : weight,
      position: positionOf(index),
    });
  };
  if (text.includes('<') || text.includes('[')) {
    for (const match of text.matchAll(CONTROL_TOKEN)) {
      const opens = OPENS_TURN.test(text.slice(match.index, match.index + 40));
      add(match.index, opens ? 10 : 6, opens ? 3 : 0);
    }
    for (const match of text.matchAll(SYSTEM_ELEMENT)) {
      if (TO_MODEL.test(match[2] ?? '')) add(match.index, match[1]!.toLowerCase().startsWith('i') ? 4 : 7, 0);
    }
  }
  if (text.includes(':') || text.includes('：')) {
    for (const match of text.matchAll(SPEAKER_LINE)) {
      if (TO_MODEL.test(match[1] ?? '')) add(match.index, 7, 1);
    }
    if ((text.match(TURN_LINE)?.length ?? 0) > 1)
      found.push({ rule: RULE, reason: REASON, weight: 2, position: positionOf(0) });
  }
  return found;
}

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
 * Evidence of orders in the invisible parts of a document: a comment or a hidden element that names an AI and tells it
 * to do something. Only what tools return is a document. Linear, pure.
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
