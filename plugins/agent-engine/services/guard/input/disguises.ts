/** Long enough to hold an order, short enough to be found in one line. */
const BASE64 = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}/g;
const HEX = /(?<![0-9a-f])(?:(?:0x)?[0-9a-f]{2}[\s:,]{0,2}){12,}/gi;
const BINARY = /(?<![01])(?:[01]{8}[\s,]?){8,}/g;
const DECIMAL = /(?<!\d)(?:\d{2,3}[\s,]{1,2}){12,}(?:\d{2,3})?/g;
/** Base64 is decoded in pieces of whole groups, so that text behind a binary beginning is seen too. */
const PIECE = 4096;
/** A line break, and the blanks around it, does not end an encoded text. */
const MAX_BREAK = 3;
const SAMPLE = 512;
const READABLE_SHARE = 0.85;
const UNREADABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\n\r\t]|\ufffd/gu;
const DIGIT = /\d/;
const LETTERS = /\p{L}{2}/u;

/**
 * Texts that are encoded in a text: base64 (URL-safe too), hexadecimal, binary and decimal character codes. What does
 * not decode to something readable is left out. Together they are no longer than the text. Linear, pure.
 */
export function findEncodedTexts(text: string): readonly string[] {
  const base64 = decodeRuns(text, BASE64, decodeBase64);
  if (!DIGIT.test(text)) return base64;
  return [
    ...base64,
    ...decodeRuns(text, HEX, (run) => Buffer.from(run.replace(/0x|[\s:,]/gi, ''), 'hex').toString('utf8')),
    ...decodeRuns(text, BINARY, (run) => fromCodes(run.match(/[01]{8}/g) ?? [], 2)),
    ...decodeRuns(text, DECIMAL, (run) => fromCodes(run.match(/\d{2,3}/g) ?? [], 10)),
  ];
}

/** Decodes each run; what only a line break separates is one text. */
function decodeRuns(text: string, pattern: RegExp, decode: (run: string) => string): readonly string[] {
  const found: string[] = [];
  let last = -MAX_BREAK - 1;
  for (const match of text.matchAll(pattern)) {
    const decoded = readable(decode(match[0]));
    if (decoded === undefined) continue;
    if (match.index - last <= MAX_BREAK) found.push(`${found.pop()}${decoded}`);
    else found.push(decoded);
    last = match.index + match[0].length;
  }
  return found;
}

function decodeBase64(run: string): string {
  let decoded = '';
  for (let start = 0; start < run.length; start += PIECE) {
    decoded += readable(Buffer.from(run.slice(start, start + PIECE), 'base64').toString('utf8')) ?? '\ufffd';
  }
  return decoded;
}

function fromCodes(codes: readonly string[], radix: number): string {
  return String.fromCharCode(...codes.slice(0, PIECE).map((code) => Number.parseInt(code, radix)));
}

/** The text if it looks like written language: judged by its beginning, for a long one by its end. */
function readable(text: string): string | undefined {
  const sample = text.length <= SAMPLE ? text : text.slice(-SAMPLE);
  const unreadable = sample.match(UNREADABLE)?.length ?? 0;
  return LETTERS.test(sample) && unreadable <= sample.length * (1 - READABLE_SHARE) ? text : undefined;
}

/** ROT13 of Latin letters. Its own inverse. Pure. */
export function rot13(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => {
    const code = letter.charCodeAt(0);
    const base = code < 0x61 ? 0x41 : 0x61;
    return String.fromCharCode(((code - base + 13) % 26) + base);
  });
}

/** The text backwards, by UTF-16 unit. Pure. */
export function reverse(text: string): string {
  return text.split('').reverse().join('');
}

/** Each word backwards, the words in order. Pure. */
export function reverseWords(text: string): string {
  return text.replace(/[a-z]+/gi, reverse);
}

const TRIGGER = /[%&\\=]/;
/** Percent-encoding, JSON and C escapes, HTML entities, quoted-printable; each alternative has one way to match. */
const ESCAPE =
  /((?:%[0-9a-f]{2})+)|\\x([0-9a-f]{2})|\\u\{?([0-9a-f]{4,5})\}?|\\([nrt"'/])|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|&(lt|gt|amp|quot|apos|nbsp|Tab|NewLine|lpar|rpar|comma|period|colon);|((?:=[0-9A-F]{2})+)|=(\r?\n)/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  tab: ' ',
  newline: '\n',
  lpar: '(',
  rpar: ')',
  comma: ',',
  period: '.',
  colon: ':',
};
const CONTROL: Readonly<Record<string, string>> = { n: '\n', r: '\n', t: ' ', '"': '"', "'": "'", '/': '/' };

/**
 * The text with the escapes of URLs, JSON, HTML, C and mails (quoted-printable) resolved where they stand; itself when
 * it has none. Never longer than the text. Linear, pure.
 */
export function resolveEscapes(text: string): string {
  if (!TRIGGER.test(text)) return text;
  return text.replace(ESCAPE, (whole, percent, x, u, control, hexEntity, entity, named, printable) => {
    if (percent !== undefined) return Buffer.from(percent.replaceAll('%', ''), 'hex').toString('utf8');
    if (printable !== undefined) return Buffer.from(printable.replaceAll('=', ''), 'hex').toString('utf8');
    if (control !== undefined) return CONTROL[control.toLowerCase()] ?? whole;
    if (named !== undefined) return ENTITIES[named.toLowerCase()] ?? whole;
    const hex = x ?? u ?? hexEntity;
    if (hex === undefined && entity === undefined) return '';
    const code = hex === undefined ? Number(entity) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
  });
}

/** The invisible content of a text. */
interface Inspection {
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
 * Takes invisible characters out of a text and reads what they spell: Unicode tags, bytes in variation selectors.
 * Joiners that scripts and emoji need, soft hyphens and flags are no evidence. Linear; a text without any costs one
 * search. Pure.
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
