import { type CharClass, chars, OTHER, UNITS } from '../../../foundation/redaction/char-class.ts';
import { escapeAt } from '../../../foundation/redaction/escapes.ts';
import {
  type Boundary,
  type CredentialKind,
  count,
  newTally,
  type Pattern,
  type Step,
} from '../../../foundation/redaction/pattern.ts';

interface Match {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The rules of redaction in the slow and obvious way, with the regular expressions of JavaScript: tries every pattern
 * at every position of the whole text. What the streaming redactor must agree with. It does not look into base64.
 */
export function createReference(kinds: readonly CredentialKind[]): (text: string) => string {
  const patterns = kinds
    .flatMap(({ kind, patterns }) => patterns.map((pattern) => ({ kind, pattern })))
    .filter(({ pattern }) => pattern.steps[0]?.type !== 'base64')
    .map(({ kind, pattern }) => ({ kind, ...compile(pattern) }));
  return function redact(text): string {
    const { decoded, positions } = decode(text);
    const matches = patterns.flatMap((pattern) => matchesOf(pattern, decoded));
    if (matches.length === 0) return text;
    const start = Math.min(...matches.map((match) => match.start));
    const here = matches.filter((match) => match.start === start);
    const end = Math.max(...here.map((match) => match.end));
    return `${text.slice(0, positions[start])}[REDACTED:${here[0]!.kind}]${redact(text.slice(positions[end]))}`;
  };
}

/**
 * What a percent escape stands for is told apart from the same character as itself, and so are `\n`, `\r` and their
 * like.
 */
const PERCENT = 0xe000;
const LETTERS = 0xe100;
const PERCENT_LETTERS = 0xe200;

/** The characters of a text as its escapes say, and where each begins in it. */
function decode(text: string): { decoded: string; positions: number[] } {
  const positions: number[] = [];
  let decoded = '';
  let index = 0;
  while (index < text.length) {
    const [whole, unit] = unitAt(text, index);
    positions.push(index);
    decoded += String.fromCharCode(unit);
    index += whole;
  }
  return { decoded, positions: [...positions, text.length] };
}

function unitAt(text: string, index: number): [length: number, code: number] {
  if (!'\\%'.includes(text[index]!)) return [1, text.charCodeAt(index)];
  const { length, unit, isPercent, letter } = escapeAt(text, index, true)!;
  if (letter !== undefined && isPercent) return [length, PERCENT_LETTERS + letter];
  return [length, letter === undefined ? unit + (isPercent ? PERCENT : 0) : LETTERS + letter];
}

function matchesOf(
  { kind, begin, match }: ReturnType<typeof compile> & { kind: string },
  text: string,
): Match[] {
  const matches: Match[] = [];
  begin.lastIndex = 0;
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const range = match(text, found.index, found.index + found[1]!.length);
    if (range !== undefined) matches.push({ kind, ...range });
    begin.lastIndex = found.index + 1;
  }
  return matches;
}

function compile(pattern: Pattern) {
  const prefix = pattern.prefix
    .map((set, index) => setOf(set, { isExact: true, isFirst: index === 0 }))
    .join('');
  const { steps, secretFrom } = pattern;
  const context = steps.slice(0, Math.max(0, secretFrom));
  const secrets = [false, true].map((isEncoded) => sequence(steps.slice(Math.max(0, secretFrom)), isEncoded));
  return {
    begin: new RegExp(`${behind(pattern.boundary)}(${prefix})`, 'g'),
    match: (text: string, from: number, afterPrefix: number) => {
      let isEncoded = hasPercent(text.slice(from, afterPrefix));
      let start: number | undefined = afterPrefix;
      for (const step of context) {
        const end: number | undefined = sequence([step], isEncoded)(text, start!);
        if (end === undefined) return undefined;
        const isRaw = step.type === 'run' && step.of[0x25] === 1;
        isEncoded ||= !isRaw && hasPercent(text.slice(start, end));
        start = end;
      }
      const end = secrets[Number(isEncoded)]!(text, start!);
      return end === undefined ? undefined : { start: secretFrom < 0 ? from : start!, end };
    },
  };
}

const hasPercent = (text: string) => /[\ue000-\ue0ff\ue200-\ue2ff]/.test(text);

function behind(boundary: Boundary): string {
  if (boundary === 'anywhere') return '';
  const set = setOf(chars(boundary === 'word' ? 'A-Za-z0-9' : 'A-Za-z0-9_-'), { isExact: true });
  // An escape ends the word before it.
  return `(?:(?<!${set})|(?=[\ue100-\ue1ff]))`;
}

type Reader = (text: string, from: number) => number | undefined;

/** Where these steps end when they begin at `from`. */
function sequence(steps: readonly Step[], isEncoded: boolean): Reader {
  const index = steps.findIndex(({ type }) => type === 'judged');
  if (index < 0) return expression(steps, isEncoded);
  const first = expression(steps.slice(0, index), isEncoded);
  const judged = judgedRun(steps[index] as Extract<Step, { type: 'judged' }>, isEncoded);
  const rest = expression(steps.slice(index + 1), isEncoded);
  return (text, from) => {
    const begin = first(text, from);
    const end = begin === undefined ? undefined : judged(text, begin);
    return end === undefined ? undefined : rest(text, end);
  };
}

function expression(steps: readonly Step[], isEncoded: boolean): Reader {
  const pattern = new RegExp(source(steps, isEncoded), 'y');
  return (text, from) => {
    pattern.lastIndex = from;
    const found = pattern.exec(text);
    return found === null ? undefined : from + found[0].length;
  };
}

function judgedRun(
  { of, min, max, limit, judge }: Extract<Step, { type: 'judged' }>,
  isEncoded: boolean,
): Reader {
  const run = expression([{ type: 'run', of, min: 0, max }], isEncoded);
  return (text, from) => {
    const end = run(text, from)!;
    const tally = newTally();
    for (let index = from; index < Math.min(end, from + limit); index += 1) {
      count(tally, plainUnit(text.charCodeAt(index)));
      if (index + 1 - from >= min && judge(tally)) return end;
    }
    return undefined;
  };
}

/** What an escape stands for. */
function plainUnit(code: number): number {
  if (code >= LETTERS && code < PERCENT_LETTERS + UNITS) return CONTROLS[String.fromCharCode(code & 0x7f)]!;
  return code >= PERCENT && code < PERCENT + UNITS ? code - PERCENT : code;
}

const CONTROLS: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09, b: 0x08, f: 0x0c };

function source([step, ...rest]: readonly Step[], isEncoded: boolean): string {
  if (step === undefined) return '';
  switch (step.type) {
    case 'run': {
      const max = step.max === Number.POSITIVE_INFINITY ? '' : step.max;
      return `${setOf(step.of, { isEncoded })}{${step.min},${max}}${source(rest, isEncoded)}`;
    }
    case 'unless':
      return `(?!${setOf(step.of, { isExact: true })})`;
    case 'before':
      return `${setOf(step.of, { isEncoded })}{0,${step.max}}(?=${setOf(step.mark, { isExact: true })})`;
    case 'through':
      return `(?:[^]*?${step.text.map((set) => setOf(set, { isExact: true })).join('')}${source(rest, isEncoded)}|[^]*)`;
    default:
      throw new Error(`${step.type} is no regular expression`);
  }
}

/**
 * @param isEncoded whether a plus is a blank, and a percent escape is no percent sign with something behind it
 * @param isExact whether neither matters
 * @param isFirst for the first character of a prefix, which the letter of an escape may be
 */
function setOf(
  set: CharClass,
  {
    isEncoded = true,
    isExact = false,
    isFirst = false,
  }: { isEncoded?: boolean; isExact?: boolean; isFirst?: boolean },
): string {
  let list = isEncoded && !isExact && set[0x20] === 1 ? '+' : '';
  const add = (code: number) => {
    list += `\\u${code.toString(16).padStart(4, '0')}`;
  };
  for (let unit = 0; unit < UNITS; unit += 1) {
    if (set[unit] === 1) {
      if (unit === OTHER) list += '\\u007f-\\udfff\\ue300-\\uffff';
      else add(unit);
    }
    if (set[unit] === 1 || (!isEncoded && set[0x25] === 1)) add(PERCENT + unit);
  }
  for (const [letter, unit] of Object.entries(CONTROLS)) {
    const code = letter.charCodeAt(0);
    const isIn = set[unit] === 1 || (isFirst && set[code] === 1);
    if (isIn) add(LETTERS + code);
    if (isIn || (!isEncoded && set[0x25] === 1)) add(PERCENT_LETTERS + code);
  }
  return `[${list}]`;
}
