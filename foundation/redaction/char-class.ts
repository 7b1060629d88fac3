/**
 * A set of UTF-16 code units as a table of 0 and 1, looked up with `unitOf`. All that is not ASCII is one entry, which
 * DEL shares: no credential's format distinguishes any of it.
 */
export type CharClass = Uint8Array;

/** Entries of a class. */
export const UNITS = 128;

/** The entry of everything that is not ASCII. */
export const OTHER = UNITS - 1;

/** The entry of a UTF-16 code unit. */
export function unitOf(code: number): number {
  return code < OTHER ? code : OTHER;
}

/** The class of the listed ASCII characters; `a-z` is a range, a hyphen at the end is itself. */
export function chars(list: string): CharClass {
  const set = new Uint8Array(UNITS);
  for (let index = 0; index < list.length; index += 1) {
    const from = list.charCodeAt(index);
    const isRange = list[index + 1] === '-' && index + 2 < list.length;
    set.fill(1, from, (isRange ? list.charCodeAt(index + 2) : from) + 1);
    if (isRange) index += 2;
  }
  return set;
}

/** What is in the class or in the list. */
export function plus(set: CharClass, list: string): CharClass {
  const added = chars(list);
  return set.map((isIn, unit) => isIn | added[unit]!);
}

/** What is in the class and not in the list. */
export function except(set: CharClass, list: string): CharClass {
  const excluded = chars(list);
  return set.map((isIn, unit) => isIn & ~excluded[unit]!);
}

/** Everything visible, of any script, except what is listed: no white space, no control characters. */
export function visibleExcept(list: string): CharClass {
  const excluded = chars(list);
  return new Uint8Array(UNITS).map((_, unit) => (unit > 0x20 && excluded[unit] === 0 ? 1 : 0));
}

/** Everything, of any script, except what is listed. */
export function anyExcept(list: string): CharClass {
  return chars(list).map((isIn) => 1 - isIn);
}

/** A class of one character each. Shared, so that equal prefixes are made of the same classes. */
const SINGLES = Array.from({ length: UNITS }, (_, unit) => new Uint8Array(UNITS).fill(1, unit, unit + 1));
const EITHER_CASE = Array.from({ length: UNITS }, (_, unit) => {
  const char = String.fromCharCode(unit);
  return chars(char.toUpperCase() + char.toLowerCase());
});

/** A class for each character of an ASCII text. */
export function literal(text: string): CharClass[] {
  return [...text].map((char) => SINGLES[char.charCodeAt(0)]!);
}

/** The same in upper and lower case alike. */
export function caseless(text: string): CharClass[] {
  return [...text].map((char) => EITHER_CASE[char.charCodeAt(0)]!);
}

/** Decimal digits. */
export const DIGIT = chars('0-9');
/** Letters and digits. */
export const ALNUM = chars('A-Za-z0-9');
/** Upper-case letters and digits. */
export const UPPER_ALNUM = chars('A-Z0-9');
/** Lower-case letters and digits. */
export const LOWER_ALNUM = chars('a-z0-9');
/** Hexadecimal digits in lower case. */
export const HEX = chars('0-9a-f');
/** Hexadecimal digits in any case. */
export const ANY_HEX = chars('0-9a-fA-F');
/** Letters, digits and `_`, the `\w` of regular expressions. */
export const WORD = chars('A-Za-z0-9_');
/** The alphabet of base64 (RFC 4648, 4), without padding. */
export const BASE64 = chars('A-Za-z0-9+/');
/** The URL-safe alphabet (RFC 4648, 5), without padding. */
export const BASE64URL = chars('A-Za-z0-9_-');
