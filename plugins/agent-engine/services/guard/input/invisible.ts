/** What a text holds that nobody sees. */
export interface Inspection {
  /** The text without what is invisible. */
  readonly visible: string;
  /** Messages that were written in invisible characters. */
  readonly hidden: readonly string[];
  /** True when invisible characters stand where no script needs them: inside Latin words, or many in a row. */
  readonly isSuspicious: boolean;
}

/** Soft hyphen, zero-width and direction marks, invisible operators, fillers, variation selectors, tags. */
const ANY =
  /[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|\u034f|[\u180b-\u180d]|[\ufe00-\ufe0f]|[\u{e0000}-\u{e01ef}]/u;
const ALL = new RegExp(ANY, 'gu');
/** The flags of England, Scotland and Wales are spelled in tags. */
const FLAG = /\u{1f3f4}[\u{e0061}-\u{e007a}]{3,6}\u{e007f}/gu;
const TAG_RUN = /[\u{e0020}-\u{e007e}]{3,}/gu;
const SELECTOR_RUN = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu;
const IN_WORD = /[a-z][\u200b-\u200d\u2060-\u2064\ufeff]+(?=[a-z])/gi;
const LONG_RUN = /[\u200b-\u200f\u2060-\u2064\ufeff]{16}/;
const OVERRIDE_MARK = /[\u202d\u202e]/;
const MANY_IN_WORDS = 4;

/**
 * Takes invisible characters out of a text and reads what they spell: Unicode tags, bytes in variation selectors. Joiners that scripts and
 * emoji need, soft hyphens and flags are no evidence. Linear; a text without any costs one search. Pure.
 */
export function inspectInvisible(text: string): Inspection {
  if (!ANY.test(text)) return { visible: text, hidden: [], isSuspicious: false };
  const plain = text.replace(FLAG, '');
  const hidden = [
    ...(plain.match(TAG_RUN) ?? []).map(readTags),
    ...(plain.match(SELECTOR_RUN) ?? []).map(readSelectors),
  ];
  const inWords = plain.match(IN_WORD)?.length ?? 0;
  const isSuspicious =
    hidden.length > 0 || inWords >= MANY_IN_WORDS || LONG_RUN.test(plain) || OVERRIDE_MARK.test(plain);
  return { visible: plain.replace(ALL, ''), hidden, isSuspicious };
}

/** A tag is an ASCII character moved up to plane 14. */
function readTags(run: string): string {
  return Array.from(run, (tag) => String.fromCharCode(tag.codePointAt(0)! - 0xe0000)).join('');
}

/** The 256 selectors are the 256 bytes: 16 in the basic plane, the rest in plane 14. */
function readSelectors(run: string): string {
  const bytes = Array.from(run, (selector) => {
    const code = selector.codePointAt(0)!;
    return code < 0xe0100 ? code - 0xfe00 : code - 0xe0100 + 16;
  });
  return Buffer.from(bytes).toString('utf8');
}
