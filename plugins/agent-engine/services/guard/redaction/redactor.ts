import type { StreamRedactor } from '../../../contract/guard.ts';
import { OTHER, UNITS, unitOf } from './char-class.ts';
import type { CredentialKind, Pattern } from './pattern.ts';
import { type PrefixAutomaton, prefixAutomaton } from './prefix-automaton.ts';
import { advance, finish, startThread, type Thread } from './thread.ts';

/** The kinds as they are searched for; made once, shared by all streams. */
export interface RedactionProgram {
  readonly patterns: readonly Pattern[];
  /** The marker of each pattern. */
  readonly markers: readonly string[];
  readonly automaton: PrefixAutomaton;
}

/** Prepares kinds. The order of the kinds, and of the patterns in them, decides which of two names a credential. */
export function redactionProgram(kinds: readonly CredentialKind[]): RedactionProgram {
  const patterns = kinds.flatMap((kind) => kind.patterns);
  const markers = kinds.flatMap(({ kind, patterns }) => patterns.map(() => `[REDACTED:${kind}]`));
  return { patterns, markers, automaton: prefixAutomaton(patterns) };
}

/**
 * Redacts one text that arrives in pieces. What comes out does not depend on the pieces; a whole text is one piece.
 *
 * The first credential in the text wins; of several that begin at the same place, the first of the table gives the name,
 * the longest the extent. Behind it the text begins anew. As soon as it is certain that something is a credential, its
 * marker is written, and the rest of it is dropped as it comes. Held back is the text from the first beginning on of which
 * it is undecided whether it becomes a credential.
 */
export function createRedactor({ patterns, markers, automaton }: RedactionProgram): StreamRedactor {
  const { next, firstHit, hits, held } = automaton;
  let state = automaton.initial;
  /** Attempts that may still become a credential, and finished ones that wait for an earlier attempt; or those of `open`. */
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
  let origin = 0;
  let index = 0;
  let output = '';

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
    state = automaton.initial;
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
        isBlocked = first.start >= origin + index - held[state]!;
        if (isBlocked) return;
        output += take(first.start) + markers[first.order]!;
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

  /** Lets the attempts read a character; true when one of them has ended or become certain. */
  function advanceAll(unit: number, position: number): boolean {
    let isNews = false;
    for (const thread of threads) {
      if (!thread.isAlive) continue;
      const wasUndecided = thread.end < 0;
      advance(thread, unit, position);
      if (!thread.isAlive || (wasUndecided && thread.end >= 0)) isNews = true;
    }
    return isNews;
  }

  /** Begins the attempts whose prefix has just been read. */
  function begin(): void {
    for (const order of hits[state - firstHit]!) {
      const pattern = patterns[order]!;
      threads.push(startThread(pattern, order, origin + index - pattern.prefix.length));
    }
  }

  /** Reads the piece to its end. */
  function read(): void {
    while (index < piece.length) {
      if (threads.length === 0) {
        readOrdinary();
        if (state >= firstHit) begin();
      } else {
        const unit = unitOf(piece.charCodeAt(index));
        const isNews = advanceAll(unit, origin + index);
        index += 1;
        // Nothing begins inside of a credential.
        if (open === undefined) {
          state = next[state * UNITS + unit]!;
          if (state >= firstHit) begin();
        }
        if (isNews || isBlocked) settle();
      }
    }
  }

  /** Reads up to the end of a prefix. The whole cost of a character of ordinary text is this loop. */
  function readOrdinary(): void {
    const { length } = piece;
    do {
      const code = piece.charCodeAt(index);
      state = next[state * UNITS + (code < OTHER ? code : OTHER)]!;
      index += 1;
    } while (state < firstHit && index < length);
  }

  /** Where the text that must wait begins. */
  function undecidedFrom(position: number): number {
    let from = position - held[state]!;
    for (const { start } of threads) if (start >= 0 && start < from) from = start;
    // Half a character must not leave alone: the pieces are encoded one by one.
    return from === position && isHighSurrogate(piece.charCodeAt(piece.length - 1)) ? from - 1 : from;
  }

  function push(text: string): string {
    if (text === '') return '';
    piece = text;
    index = 0;
    read();
    const position = origin + piece.length;
    if (open === undefined) output += take(undecidedFrom(position));
    else take(covered(open.end, threads));
    pending += piece.slice(Math.max(0, base - origin));
    origin = position;
    piece = '';
    return flush();
  }

  function end(): string {
    do {
      read();
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
