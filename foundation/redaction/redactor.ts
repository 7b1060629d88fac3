import type { Search } from './base64-reader.ts';
import { OTHER, UNITS, unitOf } from './char-class.ts';
import { BACKSLASH, type Escape, escapeAt, PERCENT } from './escapes.ts';
import type { CredentialKind, Pattern } from './pattern.ts';
import { type PrefixAutomaton, prefixAutomaton } from './prefix-automaton.ts';
import { advance, finish, startThread, type Thread, type Unit } from './thread.ts';

/** Replaces credentials in a text that arrives in pieces, at any split. */
export interface StreamRedactor {
  /** What can leave now. Holds back the longest tail that can still become a credential. */
  push(text: string): string;
  /** The rest, when nothing more comes. */
  end(): string;
}

/** The kinds as they are searched for; made once, shared by all streams. */
export interface RedactionProgram {
  readonly patterns: readonly Pattern[];
  /** The marker of each pattern. */
  readonly markers: readonly string[];
  readonly automaton: PrefixAutomaton;
}

/** Escapes that are remembered: no prefix is longer. */
const SPELLED = 64;
/**
 * Base64 that is read at the same time: a path of it may hold another beginning, though not more than one for each
 * place in a group of four.
 */
const MOST_BASE64 = 4;

/** Prepares kinds. The order of the kinds, and of the patterns in them, decides which of two names a credential. */
export function redactionProgram(kinds: readonly CredentialKind[]): RedactionProgram {
  const patterns = kinds.flatMap((kind) => kind.patterns);
  const markers = kinds.flatMap(({ kind, patterns }) => patterns.map(() => `[REDACTED:${kind}]`));
  return { patterns, markers, automaton: prefixAutomaton(patterns) };
}

/**
 * Redacts one text that arrives in pieces. What comes out does not depend on the pieces; a whole text is one piece.
 *
 * The first credential in the text wins; of several that begin at the same place, the first of the table gives the
 * name, the longest the extent. Behind it the text is read as if it began there. As soon as it is certain that
 * something is a credential, its marker is written, and the rest of it is dropped as it comes. Held back is the text
 * from the first beginning on of which it is undecided whether it becomes a credential.
 *
 * Characters are read as their escapes say (`\\u002d`, `%2D`); what leaves is the text as it was.
 *
 * @param onCredential called for each credential; then base64 is not looked into, since what calls it does just that
 */
export function createRedactor(program: RedactionProgram, onCredential?: () => void): StreamRedactor {
  const { patterns, markers, automaton } = program;
  const { next, firstHit, hits, held, afterLetter } = automaton;
  let state = automaton.initial;
  /**
   * Attempts that may still become a credential, and finished ones that wait for an earlier attempt; or those of
   * `open`.
   */
  let threads: Thread[] = [];
  /** The credential whose marker was written last, while it can still grow. */
  let open: { readonly start: number; end: number } | undefined;
  /** Whether an attempt that is certain waits for a prefix that is not read yet. */
  let isBlocked = false;
  /** Text that has been read and has not left begins at `base`. What of it came before `piece` is in `pending`. */
  let base = 0;
  let pending = '';
  /** The text that is read now: where it begins, and how far it has been read. */
  let piece = '';
  /** An escape of which the end has not come. */
  let unread = '';
  let origin = 0;
  let index = 0;
  let output = '';
  /** The character that the attempts read: one object for all, for the sake of speed. */
  const reading: Unit = { unit: 0, isPercent: false, from: 0, to: 0 };
  const openSearch = () => searchIn(program);
  /** The last escapes: where they ended, in the whole text. */
  let spelled: { readonly end: number; readonly length: number; readonly isPercent: boolean }[] = [];

  /** Takes the text up to a position away from what has not left. */
  function take(to: number): string {
    let text = '';
    if (base < origin) {
      const length = Math.min(to, origin) - base;
      text = pending.slice(0, length);
      pending = pending.slice(length);
      base += length;
    }
    if (base < to) {
      text += piece.slice(base - origin, to - origin);
      base = to;
    }
    return text;
  }

  /** Reads on from a position that may have been read, as if the text began there. */
  function restart(position: number): void {
    take(position);
    piece = position < origin ? pending + piece : piece.slice(position - origin);
    pending = '';
    origin = position;
    index = 0;
    spelled = [];
    state = automaton.initial;
  }

  /** Where the last so many characters begin, and whether one of them is a percent escape. */
  function last(characters: number): { readonly start: number; readonly isEncoded: boolean } {
    let start = origin + index;
    if (spelled.length === 0) return { start: start - characters, isEncoded: false };
    let left = characters;
    let isEncoded = false;
    for (let nth = spelled.length - 1; nth >= 0; nth -= 1) {
      const { end, length, isPercent } = spelled[nth]!;
      if (start - end >= left) break;
      left -= start - end + 1;
      start = end - length;
      isEncoded ||= isPercent;
    }
    return { start: start - left, isEncoded };
  }

  /** Decides what can be decided: the earliest attempt first, once it is over or certain. */
  function settle(): void {
    isBlocked = false;
    for (;;) {
      if (open === undefined) {
        const first = earliest(threads);
        if (first === undefined || (first.end < 0 && first.isAlive)) {
          threads = threads.filter(({ isAlive, end }) => isAlive || end >= 0);
          return;
        }
        if (first.end < 0) {
          threads = threads.filter((thread) => thread !== first);
          continue;
        }
        // A prefix that began no later may still give it another name.
        isBlocked = first.start >= last(held[state]!).start;
        if (isBlocked) return;
        output += take(first.start) + markers[first.order]!;
        onCredential?.();
        open = { start: first.start, end: first.end };
        threads = threads.filter(({ start }) => start === first.start);
      }
      open.end = covered(open.end, threads);
      threads = threads.filter(({ isAlive }) => isAlive);
      if (threads.length > 0) return;
      restart(open.end);
      open = undefined;
    }
  }

  /** Lets the attempts read a character; true when one of them has ended, become certain, or moved its beginning. */
  function advanceAll(): boolean {
    let isNews = false;
    for (const thread of threads) {
      if (!thread.isAlive) continue;
      const { start, end } = thread;
      advance(thread, reading);
      const hasMoved = start >= 0 && thread.start !== start;
      if (!thread.isAlive || (end < 0 && (thread.end >= 0 || hasMoved))) isNews = true;
    }
    return isNews;
  }

  /** Begins the attempts whose prefix has just been read. */
  function begin(): void {
    for (const order of hits[state - firstHit]!) {
      const pattern = patterns[order]!;
      const isBase64 = pattern.steps[0]?.type === 'base64';
      if (isBase64 && (onCredential !== undefined || isCrowded(threads))) continue;
      threads.push(startThread(pattern, order, last(pattern.prefix.length), openSearch));
    }
  }

  /** Reads the piece to its end, or to an escape whose end may follow. */
  function read(isWhole: boolean): void {
    while (index < piece.length) {
      if (threads.length === 0 && readOrdinary()) {
        if (state >= firstHit) begin();
        continue;
      }
      const code = piece.charCodeAt(index);
      if (code !== BACKSLASH && code !== PERCENT) {
        const unit = unitOf(code);
        reading.unit = unit;
        reading.isPercent = false;
        reading.from = origin + index;
        reading.to = reading.from + 1;
        readUnit(next[state * UNITS + unit]!);
        continue;
      }
      const found = escapeAt(piece, index, isWhole);
      if (found === undefined) return;
      readEscape(found);
    }
  }

  /** Lets the attempts read the character, with which the automaton comes to the state `after`. */
  function readUnit(after: number): void {
    const isNews = advanceAll();
    index += reading.to - reading.from;
    // Nothing begins inside of a credential.
    if (open === undefined) {
      state = after;
      if (state >= firstHit) begin();
    }
    if (isNews || isBlocked) settle();
  }

  function readEscape({ unit, length, isPercent, letter }: Escape): void {
    reading.unit = unit;
    reading.isPercent = isPercent;
    reading.from = origin + index;
    reading.to = reading.from + length;
    if (spelled.length > 2 * SPELLED) spelled = spelled.slice(-SPELLED);
    spelled.push({ end: reading.to, length, isPercent });
    const isSign = unit === BACKSLASH || unit === PERCENT;
    const plain = isSign ? automaton.initial : next[state * UNITS + unit]!;
    readUnit(letter === undefined ? plain : afterLetter.get(letter)!);
  }

  /**
   * Reads up to the end of a prefix; false at an escape. The whole cost of a character of ordinary text is this loop.
   */
  function readOrdinary(): boolean {
    const text = piece;
    const { length } = text;
    let at = index;
    let before = state;
    let now = state;
    do {
      const code = text.charCodeAt(at);
      before = now;
      now = next[now * UNITS + (code < OTHER ? code : OTHER)]!;
      at += 1;
    } while (now < firstHit && at < length);
    const isEscape = now === automaton.escape;
    state = isEscape ? before : now;
    index = isEscape ? at - 1 : at;
    return !isEscape;
  }

  /** Where the text that must wait begins. */
  function undecidedFrom(): number {
    const position = origin + index;
    const isUndecided = held[state]! > 0;
    let from = isUndecided ? last(held[state]!).start : position;
    for (const { start } of threads) if (start >= 0 && start < from) from = start;
    // Half a character must not leave alone: the pieces are encoded one by one.
    return from === position && isHighSurrogate(piece.charCodeAt(index - 1)) ? from - 1 : from;
  }

  function push(text: string): string {
    if (text === '') return '';
    piece = unread + text;
    index = 0;
    read(false);
    const position = origin + index;
    if (open === undefined) output += take(undecidedFrom());
    else take(covered(open.end, threads));
    pending += piece.slice(Math.max(0, base - origin), index);
    unread = piece.slice(index);
    origin = position;
    piece = '';
    index = 0;
    return flush();
  }

  function end(): string {
    piece = unread;
    unread = '';
    index = 0;
    do {
      read(true);
      state = automaton.initial;
      for (const thread of threads) finish(thread, origin + piece.length);
      settle();
    } while (index < piece.length);
    output += take(origin + piece.length);
    return flush();
  }

  function flush(): string {
    const text = output;
    output = '';
    return text;
  }

  return { push, end };
}

/** Whether so much base64 is being read that no more is begun. */
function isCrowded(threads: readonly Thread[]): boolean {
  return threads.filter(({ base64, isAlive }) => base64 !== undefined && isAlive).length >= MOST_BASE64;
}

/** Looks for a credential in a text in pieces. */
function searchIn(program: RedactionProgram): Search {
  let hasFound = false;
  const redactor = createRedactor(program, () => {
    hasFound = true;
  });
  return (text) => {
    redactor.push(text);
    return hasFound;
  };
}

function earliest(threads: readonly Thread[]): Thread | undefined {
  let first: Thread | undefined;
  for (const thread of threads) {
    if (thread.start < 0) continue;
    if (
      first === undefined ||
      thread.start < first.start ||
      (thread.start === first.start && thread.order < first.order)
    ) {
      first = thread;
    }
  }
  return first;
}

/** How far a credential reaches that reached to `end`, with these attempts at it. */
function covered(end: number, threads: readonly Thread[]): number {
  return threads.reduce((farthest, thread) => Math.max(farthest, thread.end), end);
}

function isHighSurrogate(code: number): boolean {
  return (code & 0xfc00) === 0xd800;
}
