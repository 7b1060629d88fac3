/** What has been seen of a value, as far as the rules below ask. */
export interface Tally {
  length: number;
  digits: number;
  hasUpper: boolean;
  hasLower: boolean;
  /** How often a letter and a digit stand side by side. */
  changes: number;
  /** The last character: a letter, a digit, or neither. */
  last: 'letter' | 'digit' | 'other';
}

/** Says of a value, while it grows, that it is a secret. */
export type Judge = (tally: Tally) => boolean;

/** The tally of an empty value. */
export function newTally(): Tally {
  return { length: 0, digits: 0, hasUpper: false, hasLower: false, changes: 0, last: 'other' };
}

/** Counts one more character, given as its ASCII code. */
export function count(tally: Tally, code: number): void {
  const isDigit = code >= 0x30 && code <= 0x39;
  const isUpper = code >= 0x41 && code <= 0x5a;
  const isLower = code >= 0x61 && code <= 0x7a;
  const kind = isDigit ? 'digit' : isUpper || isLower ? 'letter' : 'other';
  if (kind !== tally.last && kind !== 'other' && tally.last !== 'other') tally.changes += 1;
  tally.last = kind;
  tally.length += 1;
  if (isDigit) tally.digits += 1;
  tally.hasUpper ||= isUpper;
  tally.hasLower ||= isLower;
}

/**
 * True for what no hand writes as a name: letters and digits in turn. Of random letters and digits, 81 % of those with 20
 * characters pass, 96 % with 32, 99 % with 40, hexadecimal ones always; `process.env.API_KEY_V2` and
 * `correct-horse-battery` do not. Entropy over characters cannot tell these apart: an identifier of 22 characters has as
 * many different ones as a key has.
 */
export function looksRandom({ digits, changes }: Tally): boolean {
  return changes >= 3 || (changes === 2 && digits >= 4);
}

/**
 * True where a credential is expected and the value is not plainly a placeholder (`token`, `YOUR_API_KEY`): digits, both
 * cases, or more than anybody would write.
 */
export function isNoPlaceholder({ length, digits, hasUpper, hasLower }: Tally): boolean {
  return digits > 0 || (hasUpper && hasLower) || length >= 32;
}
