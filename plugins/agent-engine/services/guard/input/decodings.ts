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
 * Texts that are encoded in a text: base64 (URL-safe too), hexadecimal, binary and decimal character codes. What does not decode to
 * something readable is left out. Together they are no longer than the text. Linear, pure.
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

/** The text if it looks written by somebody: judged by its beginning, for a long one by its end. */
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
