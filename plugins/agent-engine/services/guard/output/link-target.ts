import type { Finding } from '../../../contract.ts';

/** Encoded text of this length in a URL is a message, not an identifier or a signature. */
const ENCODED_LENGTH = 48;
const ENCODED_WORDS = 4;
/**
 * Plain text in the URL of an image: captions and labels are shorter. Links may carry text (searches, shared posts).
 */
const PLAIN_LENGTH = 120;
const PLAIN_WORDS = 12;
const ACTIVE = /^\s*<?\s*(?:javascript|vbscript|data\s*:\s*text\/html)\s*:?/i;
const REMOTE = /^\s*<?\s*(?:https?:)?\/\//i;
const READABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\s]+$/u;

/**
 * What forbids a link's or an image's target: a script, or a URL that carries a text away. Undefined for any other.
 * Linear, pure.
 */
export function judgeTarget(target: string, isImage: boolean): Finding | undefined {
  // Browsers skip tabs and line breaks inside a scheme.
  if (ACTIVE.test(target.slice(0, 64).replace(/[\0- ]/g, ''))) {
    return { rule: 'active-content', reason: 'a link of the answer runs a script' };
  }
  if (!REMOTE.test(target)) return undefined;
  const parts = target.split(/[/?&=#;,<>]/).map(decodePercent);
  if (
    parts.some(carriesEncodedText) ||
    (isImage && parts.some((part) => part.length >= PLAIN_LENGTH && countWords(part) >= PLAIN_WORDS))
  ) {
    const what = isImage ? 'an image' : 'a link';
    return {
      rule: 'data-in-url',
      reason: `${what} of the answer carries a text to another server in its URL`,
    };
  }
  return undefined;
}

function decodePercent(part: string): string {
  if (!part.includes('%')) return part.replaceAll('+', ' ');
  return part
    .replaceAll('+', ' ')
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
}

function carriesEncodedText(part: string): boolean {
  if (part.length < ENCODED_LENGTH) return false;
  // decodePercent() took the plus signs of base64 for blanks.
  const run = part.replaceAll(' ', '+');
  const isHex = /^[0-9a-f]+$/i.test(run);
  if (!isHex && !/^[A-Za-z0-9+_-]+$/.test(run)) return false;
  const text = Buffer.from(run, isHex ? 'hex' : 'base64').toString('utf8');
  return READABLE.test(text) && countWords(text) >= ENCODED_WORDS;
}

function countWords(text: string): number {
  return text.match(/(?<!\S)\p{L}{2,}(?![^\s.,;:!?])/gu)?.length ?? 0;
}

const OPENS_TURN =
  /^<(?:\|(?:im_start|start_header_id|system|user|assistant|channel)\||start_of_turn|<sys>)>?/i;
/** Bounded, so that a tag of thousands of blanks costs no more than its length. */
const HANDLER = /[\s/"']on[a-z]{3,24}\s{0,8}=/i;
const SOURCE =
  /[\s/"'](src|href|action|data|poster|background|srcset)\s{0,8}=\s{0,8}["']?([^"'>\s]{1,8192})/gi;
const EMBEDS = /^<(?:iframe|object|embed|base|meta\s[^>]{0,200}http-equiv)\b/i;

/** What forbids a tag in rendered Markdown, `<…>` as it stands in the answer. Undefined for any other. Linear, pure. */
export function judgeTag(tag: string): Finding | undefined {
  if (OPENS_TURN.test(tag)) {
    return { rule: 'control-token', reason: 'the answer holds a control token that opens another turn' };
  }
  if (
    HANDLER.test(tag) ||
    (/^<script\b/i.test(tag) && /\bsrc\s{0,8}=/i.test(tag)) ||
    (EMBEDS.test(tag) && tag.includes('='))
  ) {
    return {
      rule: 'active-content',
      reason: 'the answer holds HTML that runs a script or embeds another page',
    };
  }
  for (const [, attribute, target] of tag.matchAll(SOURCE)) {
    const finding = judgeTarget(target!, attribute!.toLowerCase() !== 'href');
    if (finding !== undefined) return finding;
  }
  return undefined;
}
