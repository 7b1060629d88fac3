import { type Base64Reader, createBase64Reader, type Search } from './base64-reader.ts';
import { BASE64, type CharClass, chars, plus } from './char-class.ts';
import { PERCENT } from './escapes.ts';
import { BASE64_WINDOW, count, newTally, type Pattern, type Step, type Tally } from './pattern.ts';

const PLUS = 0x2b;
const BLANK = 0x20;

/**
 * One attempt at one pattern, from the end of its prefix on. Positions count UTF-16 units from the text's beginning.
 */
export interface Thread {
  readonly pattern: Pattern;
  /** The pattern's place in the table: of two that begin together, the earlier one gives the name. */
  readonly order: number;
  /**
   * Where the secret begins; -1 as long as only what stands before it was seen. Of base64, a beginning that holds none
   * is left behind.
   */
  start: number;
  /**
   * Where the secret ends as far as it is known now; -1 while it is undecided whether this is one. Once set, it only
   * grows.
   */
  end: number;
  /** False when it can grow no more. */
  isAlive: boolean;
  /** Whether what stands before the secret is URL-encoded: then the secret is, too, and an encoded `&` ends it. */
  isEncoded: boolean;
  step: number;
  /** Characters that the step has taken; for `through`, of its text. */
  taken: number;
  readonly tally: Tally | undefined;
  /** Whether the judge has said so; of base64, whether it has ended. */
  isJudged: boolean;
  readonly base64: Base64Reader | undefined;
  /** Where the second half of the window of base64 begins. */
  middle: number;
}

/** One character of the text. */
export interface Unit {
  /** Its entry in the classes. */
  unit: number;
  /** Whether it is written as a percent escape. */
  isPercent: boolean;
  /** Where it begins. */
  from: number;
  /** Where it ends: an escape is longer than one UTF-16 unit. */
  to: number;
}

/** An attempt at a pattern whose prefix has just been read: that begins at `start`, and is URL-encoded or not. */
export function startThread(
  pattern: Pattern,
  order: number,
  { start, isEncoded }: { readonly start: number; readonly isEncoded: boolean },
  openSearch: () => Search,
): Thread {
  const [first] = pattern.steps;
  return {
    pattern,
    order,
    start: pattern.secretFrom < 0 ? start : -1,
    end: -1,
    isAlive: true,
    isEncoded,
    step: 0,
    taken: 0,
    tally: pattern.steps.some(({ type }) => type === 'judged') ? newTally() : undefined,
    isJudged: false,
    base64: first?.type === 'base64' ? createBase64Reader(first.lead, openSearch) : undefined,
    middle: start,
  };
}

/** Reads the next character. */
export function advance(thread: Thread, read: Readonly<Unit>): void {
  if (thread.base64 !== undefined) {
    thread.isAlive = takesBase64(thread, thread.base64, read);
    return;
  }
  const { steps, secretFrom } = thread.pattern;
  for (;;) {
    const step = steps[thread.step];
    if (step === undefined) break;
    if (takes(thread, step, read)) {
      if (thread.start < 0 && thread.step >= secretFrom) thread.start = read.from;
      // What was complete a character ago in the same step still is.
      const goesOn = step.type === 'run' && thread.end === read.from && thread.taken > 1;
      if (thread.start >= 0 && (goesOn || isComplete(thread))) thread.end = read.to;
      return;
    }
    if (!isSatisfied(thread, step)) break;
    thread.step += 1;
    thread.taken = 0;
  }
  thread.isAlive = false;
}

/** Says that no character follows. */
export function finish(thread: Thread, position: number): void {
  while (thread.isAlive) {
    const step = thread.pattern.steps[thread.step];
    if (step?.type === 'unless') thread.end = position;
    if (step?.type === 'base64') endBase64(thread, position);
    if (step === undefined || step.type === 'unless' || !isSatisfied(thread, step)) thread.isAlive = false;
    else {
      thread.step += 1;
      thread.taken = 0;
    }
  }
}

function takes(thread: Thread, step: Step, read: Readonly<Unit>): boolean {
  const { unit } = read;
  switch (step.type) {
    case 'run':
      if (thread.taken >= step.max || !isIn(thread, step.of, read)) return false;
      break;
    case 'judged':
      if (thread.taken >= (thread.isJudged ? step.max : step.limit) || !isIn(thread, step.of, read))
        return false;
      if (!thread.isJudged) {
        count(thread.tally!, unit);
        thread.isJudged = thread.taken + 1 >= step.min && step.judge(thread.tally!);
      }
      break;
    case 'unless':
      if (step.of[unit] === 0) thread.end = read.from;
      return false;
    case 'before':
      if (step.mark[unit] === 1) thread.end = read.from;
      if (thread.taken >= step.max || !isIn(thread, step.of, read)) return false;
      break;
    case 'through':
      if (thread.taken === step.text.length) return false;
      while (thread.taken > 0 && step.text[thread.taken]![unit] === 0)
        thread.taken = step.failures[thread.taken]!;
      thread.taken += step.text[thread.taken]![unit]!;
      return true;
    case 'base64':
      return false;
  }
  thread.taken += 1;
  return true;
}

/**
 * Where nothing is URL-encoded, a percent escape belongs to a value as it stands: the `%2F` of a password is no slash
 * of its URL. Where what stands before a value is encoded, so are its end and what follows it, and a plus is a blank.
 */
function isIn(thread: Thread, set: CharClass, { unit, isPercent }: Readonly<Unit>): boolean {
  if (!isPercent && (set[unit] === 1 || unit !== PLUS)) return set[unit] === 1;
  return isEscapeIn(thread, set, unit, isPercent);
}

function isEscapeIn(thread: Thread, set: CharClass, unit: number, isPercent: boolean): boolean {
  if (!isPercent) return thread.isEncoded && set[BLANK] === 1;
  if (!thread.isEncoded && set[PERCENT] === 1) return true;
  // The sign between a name and its value says so, and the `://` of a URL.
  if (set[unit] === 1 && thread.step < thread.pattern.secretFrom) thread.isEncoded = true;
  return set[unit] === 1;
}

const SEXTET = plus(BASE64, '_-');
const LINE_BREAK = chars('\r\n');
const PADDING = chars('=');

function takesBase64(thread: Thread, reader: Base64Reader, { unit, from, to }: Readonly<Unit>): boolean {
  if (SEXTET[unit] === 1 && !thread.isJudged) {
    thread.taken += 1;
    if (thread.end < 0) slide(thread, from);
    const isText = reader.push(unit);
    // Behind a line break, what is no whole group of base64 may be a word of the text that follows.
    if (reader.hasFound() && (thread.end < 0 || thread.end === from || (isText && reader.isWhole())))
      thread.end = to;
    return isText || thread.end === to;
  }
  if (LINE_BREAK[unit] === 1) return true;
  thread.isJudged = true;
  endBase64(thread, from);
  if (PADDING[unit] === 0 || !reader.hasFound()) return false;
  thread.end = to;
  return true;
}

function endBase64(thread: Thread, position: number): void {
  const reader = thread.base64!;
  const hadFound = reader.hasFound();
  reader.end();
  if (reader.hasFound() && !hadFound) thread.end = position;
}

/** Leaves behind the first half of a window that is full and holds no credential. */
function slide(thread: Thread, position: number): void {
  if (thread.taken % (BASE64_WINDOW / 2) !== 0) return;
  if (thread.taken > BASE64_WINDOW / 2) thread.start = thread.middle;
  thread.middle = position;
}

/** True when the step has all that it needs, and the next one may begin. */
function isSatisfied(thread: Thread, step: Step): boolean {
  switch (step.type) {
    case 'run':
      return thread.taken >= step.min;
    case 'judged':
      return thread.isJudged;
    case 'through':
      return thread.taken === step.text.length;
    default:
      return false;
  }
}

/** True when what was read is a whole credential already. */
function isComplete(thread: Thread): boolean {
  const { steps } = thread.pattern;
  const step = steps[thread.step]!;
  if (step.type !== 'through' && !isSatisfied(thread, step)) return false;
  for (let index = thread.step + 1; index < steps.length; index += 1) {
    if (!isOptional(steps[index]!)) return false;
  }
  return true;
}

/** True for a step without which a credential is one, too. A block that never ends is one. */
function isOptional(step: Step): boolean {
  return step.type === 'through' || (step.type === 'run' && step.min === 0);
}
