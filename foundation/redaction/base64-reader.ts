import { BASE64 } from './char-class.ts';

/** Says whether the text so far, with this added, holds a credential. */
export type Search = (text: string) => boolean;

/** Decoded characters before the search begins: most words that begin like base64 are none after a few. */
const SHORTEST = 12;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const SEXTETS = Uint8Array.from({ length: 128 }, (_, unit) => {
  const char = String.fromCharCode(unit).replace('-', '+').replace('_', '/');
  return BASE64[char.charCodeAt(0)] === 1 ? ALPHABET.indexOf(char) : 0;
});

/** Reads base64 of both alphabets (RFC 4648, 4 and 5), and looks for credentials in the text that it makes. */
export type Base64Reader = ReturnType<typeof createBase64Reader>;

/**
 * A reader of base64 that begins with `lead`. Groups of four become three bytes; only UTF-8 without control characters
 * is text, so that other data is given up after a few.
 */
export function createBase64Reader(lead: string, openSearch: () => Search) {
  let search: Search | undefined;
  let waiting = '';
  let bits = 0;
  let sextets = 0;
  /** Bytes that a character of UTF-8 still needs. */
  let missing = 0;
  let hasFound = false;

  function look(text: string): void {
    waiting += text;
    if (search === undefined && waiting.length < SHORTEST) return;
    search ??= openSearch();
    hasFound ||= search(waiting);
    waiting = '';
  }

  function readGroup(bytes: number): boolean {
    let text = '';
    for (let index = 0; index < bytes; index += 1) {
      const byte = (bits >> (16 - 8 * index)) & 0xff;
      if (!isText(byte)) return false;
      text += String.fromCharCode(byte);
    }
    look(text);
    return true;
  }

  function isText(byte: number): boolean {
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (missing > 0 || isContinuation) {
      missing -= 1;
      return isContinuation && missing >= 0;
    }
    if (byte >= 0xc2 && byte < 0xf5) missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    return byte >= 0x20
      ? byte !== 0x7f && (byte < 0x80 || missing > 0)
      : byte === 0x0a || byte === 0x0d || byte === 0x09;
  }

  const reader = {
    /** Reads one character of the alphabet, given as its ASCII code; false when what it decodes to is no text. */
    push(code: number): boolean {
      bits |= SEXTETS[code]! << (18 - 6 * sextets);
      sextets += 1;
      if (sextets < 4) return true;
      const isReadable = readGroup(3);
      sextets = 0;
      bits = 0;
      return isReadable;
    },
    /** To be called when nothing more comes: reads what is no whole group. */
    end(): void {
      if (sextets > 1) readGroup(sextets - 1);
      sextets = 0;
      if (search !== undefined) hasFound ||= search('\n');
    },
    /** Whether a group of four is whole. */
    isWhole: () => sextets === 0,
    hasFound: () => hasFound,
  };
  for (const char of lead) reader.push(char.charCodeAt(0));
  return reader;
}
