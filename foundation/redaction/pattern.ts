import { type CharClass, caseless, literal } from './char-class.ts';

/**
 * One step of a pattern. A step takes as many characters as it can and gives none back, so that each character is
 * looked at once: what follows a run must not begin with a character that the run takes.
 */
export type Step =
  /** `min` to `max` characters of a class. */
  | { readonly type: 'run'; readonly of: CharClass; readonly min: number; readonly max: number }
  /** A run of `min` to `max` characters that counts from the moment that the judge says so, after `limit` at most. */
  | {
      readonly type: 'judged';
      readonly of: CharClass;
      readonly min: number;
      readonly max: number;
      readonly limit: number;
      readonly judge: Judge;
    }
  /** The end of the pattern, unless a character of the class follows. */
  | { readonly type: 'unless'; readonly of: CharClass }
  /** At most `max` characters, up to the last `mark` among them, exclusively. The end of the pattern. */
  | { readonly type: 'before'; readonly mark: CharClass; readonly of: CharClass; readonly max: number }
  /** Everything up to a text, inclusively, or to the end where the text never comes. */
  | { readonly type: 'through'; readonly text: readonly CharClass[]; readonly failures: readonly number[] }
  /** Base64 of a text that holds a credential, `lead` being the prefix before it. The only step of its pattern. */
  | { readonly type: 'base64'; readonly lead: string };

/**
 * So many characters of base64 wait at most for a credential in them; of longer data, half as many before it are
 * redacted.
 */
export const BASE64_WINDOW = 8192;

/**
 * What may stand before a pattern: anything; no letter or digit; or no letter, digit, `-` or `_`. The letter of an
 * escape such as `\n` is none, nor are the digits of `%20`.
 */
export type Boundary = 'anywhere' | 'word' | 'token';

/** The form of one credential: a short beginning, which is searched for, and the steps that decide. */
export interface Pattern {
  readonly boundary: Boundary;
  readonly prefix: readonly CharClass[];
  readonly steps: readonly Step[];
  /**
   * The step with which the secret begins; what is before stays in the text. -1 where the prefix belongs to the secret.
   */
  readonly secretFrom: number;
}

/** A kind of credential, in all its forms. */
export interface CredentialKind {
  /** Stands in the marker: `[REDACTED:<kind>]`. */
  readonly kind: string;
  /** What it is. */
  readonly title: string;
  /** Where the format is described. */
  readonly source: string;
  readonly patterns: readonly Pattern[];
}

/** A credential with a beginning given as classes. */
export function begins(boundary: Boundary, prefix: readonly CharClass[], ...steps: readonly Step[]): Pattern {
  return { boundary, prefix, steps, secretFrom: -1 };
}

/**
 * A credential known by what stands before it, a name in any case and the steps of `context`, which stay in the text.
 */
export function behind(
  boundary: Boundary,
  name: string,
  context: readonly Step[],
  ...steps: readonly Step[]
): Pattern {
  return { boundary, prefix: caseless(name), steps: [...context, ...steps], secretFrom: context.length };
}

/** `min` to `max` characters of a class; without `max`, as many as there are. */
export function run(of: CharClass, min: number, max = Number.POSITIVE_INFINITY): Step {
  return { type: 'run', of, min, max };
}

/**
 * A run that is one only if `judge` says so within `limit` characters, and not before `min`; without `max`, as long as
 * it goes on.
 */
export function judged(
  of: CharClass,
  min: number,
  limit: number,
  judge: Judge,
  max = Number.POSITIVE_INFINITY,
): Step {
  return { type: 'judged', of, min, max, limit, judge };
}

/** Ends the pattern, which matches unless a character of the class follows. */
export function unless(of: CharClass): Step {
  return { type: 'unless', of };
}

/** Ends the pattern before the last `mark` among at most `max` characters of the class. */
export function before(mark: string, of: CharClass, max: number): Step {
  return { type: 'before', mark: literal(mark)[0]!, of, max };
}

/** Everything up to a text and with it, or to the end of the text that is redacted. */
export function through(text: readonly CharClass[]): Step {
  return { type: 'through', text, failures: failureTable(text) };
}

/** A text in base64 with a credential in it, which begins with these characters. */
export function base64(lead: string): Pattern {
  return begins('token', literal(lead), { type: 'base64', lead });
}

/** Exactly these characters. */
export function exactly(sets: readonly CharClass[]): Step[] {
  return sets.map((set) => run(set, 1, 1));
}

/** What has been seen of a value, as far as the rules below ask. */
export interface Tally {
  length: number;
  digits: number;
  hasUpper: boolean;
  hasLower: boolean;
  /** How often a letter and a digit stand side by side. */
  changes: number;
  /** How often a capital and a small letter do. */
  turns: number;
  /** The last character: a letter of either case, a digit, or none of these. */
  last: 'upper' | 'lower' | 'digit' | 'other';
}

/** Says of a value, while it grows, that it is a secret. */
type Judge = (tally: Tally) => boolean;

/** The tally of an empty value. */
export function newTally(): Tally {
  return { length: 0, digits: 0, hasUpper: false, hasLower: false, changes: 0, turns: 0, last: 'other' };
}

/** Counts one more character, given as its ASCII code. */
export function count(tally: Tally, code: number): void {
  const isDigit = code >= 0x30 && code <= 0x39;
  const isUpper = code >= 0x41 && code <= 0x5a;
  const isLower = code >= 0x61 && code <= 0x7a;
  const kind = isDigit ? 'digit' : isUpper ? 'upper' : isLower ? 'lower' : 'other';
  if (kind !== tally.last && kind !== 'other' && tally.last !== 'other') {
    if (isDigit || tally.last === 'digit') tally.changes += 1;
    else tally.turns += 1;
  }
  tally.last = kind;
  tally.length += 1;
  if (isDigit) tally.digits += 1;
  tally.hasUpper ||= isUpper;
  tally.hasLower ||= isLower;
}

/**
 * True for what no hand writes as a name: letters and digits in turn. Of random letters and digits, 81 % of those with
 * 20 characters pass, 96 % with 32, 99 % with 40, hexadecimal ones always; `process.env.API_KEY_V2` and
 * `correct-horse-battery` do not. Entropy over characters cannot distinguish these: an identifier of 22 characters has
 * as many different ones as a key has.
 */
export function looksRandom({ digits, changes }: Tally): boolean {
  return changes >= 3 || (changes === 2 && digits >= 4);
}

/**
 * True where a credential is expected and the value is not plainly a placeholder (`token`, `YOUR_API_KEY`): digits,
 * both cases, or more than a person would write.
 */
export function isNoPlaceholder({ length, digits, hasUpper, hasLower }: Tally): boolean {
  return digits > 0 || (hasUpper && hasLower) || length >= 32;
}

/**
 * True for what follows the beginning of a credential, and not for a name that begins alike:
 * `npm_packageconfigregistryurl`. Of random letters and digits it misses 3 % with 20 characters and hardly any with 36.
 */
export function looksGenerated({ length, digits, changes, turns }: Tally): boolean {
  return (digits >= 2 && changes >= 2) || turns > 0.36 * length;
}

/**
 * How much of `text` still stands when, after its first n characters, the next does not follow: the failure function of
 * Knuth, Morris and Pratt, by which a text is found in a stream without going back.
 */
export function failureTable(text: ArrayLike<unknown>): number[] {
  const table = [0, 0];
  for (let length = 2; length <= text.length; length += 1) {
    let kept = table[length - 1]!;
    while (kept > 0 && text[kept] !== text[length - 1]) kept = table[kept]!;
    table.push(text[kept] === text[length - 1] ? kept + 1 : 0);
  }
  return table;
}
