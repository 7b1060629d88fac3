import { OTHER, unitOf } from './char-class.ts';

/** One character as a text spells it with several. */
export interface Escape {
  /** How many UTF-16 units of the text it takes. */
  readonly length: number;
  /** The character that it stands for, as an entry in the classes. */
  readonly unit: number;
  /** Whether it is URL-encoded: `%2F`, and `%5Cn` of JSON in a URL. */
  readonly isPercent: boolean;
  /** The letter of `\n`, which is itself one where the text is no JSON, as an entry in the classes. */
  readonly letter?: number | undefined;
}

/** The characters with which escapes begin. */
export const BACKSLASH = 0x5c;
/** See `BACKSLASH`. */
export const PERCENT = 0x25;

/**
 * Each level of JSON in JSON doubles the backslashes, each level of URL encoding adds a `25`: a character is the same
 * however deep it lies. More than 15 backslashes or three `25` are read as ones that stand for themselves.
 */
const PERCENTS = '%(?:25){0,3}';
const BACKSLASHES = String.raw`(?:\\(?:u005[cC])?|${PERCENTS}5[cC]){1,15}`;
const ENCODED = String.raw`${PERCENTS}([\da-fA-F]{2})`;
/** Every ASCII character that is visible, and no letter, digit, percent sign or backslash. */
const SIGN = String.raw`[!-$&-/:-@[\]^_\x60{-~]`;
const ESCAPE = new RegExp(
  String.raw`${BACKSLASHES}(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|([nrtbf])|(${SIGN})|${ENCODED})?|${ENCODED}|%`,
  'y',
);
/** The beginning of an escape of which the rest may follow. */
const UNFINISHED = new RegExp(
  String.raw`(?:(?:\\(?:u005[cC])?|${PERCENTS}5[cC]){0,15}(?:u[\da-fA-F]{0,3}|x[\da-fA-F]?|${PERCENTS}[\da-fA-F]?)?)$`,
  'y',
);
/** Of an unfinished escape; no longer one is. */
const LONGEST_UNFINISHED = 160;
const CONTROLS: ReadonlyMap<string, number> = new Map([
  ['n', 0x0a],
  ['r', 0x0d],
  ['t', 0x09],
  ['b', 0x08],
  ['f', 0x0c],
]);

/**
 * The escape that begins at `index`, with a backslash or a percent sign; undefined where the text may end within it.
 *
 * @param isWhole whether nothing follows the text
 */
export function escapeAt(text: string, index: number, isWhole: boolean): Escape | undefined {
  if (!isWhole && text.length - index <= LONGEST_UNFINISHED) {
    UNFINISHED.lastIndex = index;
    if (UNFINISHED.test(text)) return undefined;
  }
  ESCAPE.lastIndex = index;
  const [whole, unicode, hex, letter, sign, encoded, percent] = ESCAPE.exec(text)!;
  const { length } = whole;
  const isPercent = whole !== '%' && whole.startsWith('%');
  const found = (unit: number): Escape => ({ length, unit, isPercent });
  if (percent !== undefined) return found(byteUnit(percent));
  const code = unicode ?? hex;
  if (code !== undefined) return found(unitOf(Number.parseInt(code, 16)));
  if (sign !== undefined) return found(sign.charCodeAt(0));
  const last = letter ?? (encoded === undefined ? '' : String.fromCharCode(byteUnit(encoded)));
  const control = CONTROLS.get(last);
  if (control !== undefined) return { length, unit: control, isPercent, letter: last.charCodeAt(0) };
  return found(last === '' ? (whole === '%' ? PERCENT : BACKSLASH) : unitOf(last.charCodeAt(0)));
}

function byteUnit(hex: string): number {
  const byte = Number.parseInt(hex, 16);
  return byte < OTHER ? byte : OTHER;
}
