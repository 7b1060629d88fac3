import { Letter, type PhraseTrie } from './phrase-trie.ts';

/** Where a meaning stands. */
export interface Hit {
  readonly concepts: number;
  /** The phrase's place and end in the text that was read, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Distance from the beginning: two a word, one a character of a script without spaces, four a sentence's end. */
  readonly position: number;
}

const WORD_STEP = 2;
const STOP_STEP = 4;
/** Characters from which on an unknown word is read as words run together: "ignoreallpreviousinstructions". */
const LONGEST_WORD = 18;
/** A word longer than this is data. */
const LONGEST_RUN_TOGETHER = 160;
/** Shorter words are in every identifier by chance. */
const SHORTEST_INSIDE = 4;
/** "i g n o r e": single letters in a row that are no initials any more. */
const SPELLED_LETTERS = 5;
const MAX_GAP = 2;
const STOPS = new Set([...'.!?;\n。！？।؟'].map((character) => character.charCodeAt(0)));

/** All meanings in a folded text, in order. Linear in the text, whatever it holds. Pure. */
export function findHits(text: string, trie: PhraseTrie): readonly Hit[] {
  const hits: Hit[] = [];
  let position = 0;
  let index = 0;
  let stopped = true;

  const take = (start: number, unspaced: boolean): number => {
    const match = trie.longestAt(text, start, unspaced);
    if (match === undefined) return start;
    hits.push({ concepts: match.concepts, start, end: match.end, position });
    return match.end;
  };

  const wordEnd = (from: number): number => {
    let end = from;
    while (end < text.length && trie.kindOf(text.charCodeAt(end)) === Letter.word) end += 1;
    return end;
  };

  /** Single letters with single gaps from `from`, as one word; its end. */
  const spelledEnd = (from: number): { letters: string; end: number } => {
    let letters = text[from]!;
    let end = from + 1;
    for (;;) {
      let next = end;
      while (next < text.length && next - end <= MAX_GAP && trie.kindOf(text.charCodeAt(next)) === 0)
        next += 1;
      if (next === end || next >= text.length || trie.kindOf(text.charCodeAt(next)) !== Letter.word) break;
      if (wordEnd(next) !== next + 1) break;
      letters += text[next];
      end = next + 1;
    }
    return { letters, end };
  };

  while (index < text.length) {
    const code = text.charCodeAt(index);
    const kind = trie.kindOf(code);
    if (kind === Letter.separator) {
      if (!stopped && STOPS.has(code)) {
        stopped = true;
        position += STOP_STEP;
      }
      index += 1;
      continue;
    }
    stopped = false;
    if (kind === Letter.unspaced) {
      const end = take(index, true);
      const next = Math.max(end, index + 1);
      position += next - index;
      index = next;
      continue;
    }
    const end = wordEnd(index);
    if (end === index + 1) {
      const spelled = spelledEnd(index);
      if (spelled.letters.length >= SPELLED_LETTERS) {
        for (const hit of findRunTogether(spelled.letters, trie, position))
          hits.push({ ...hit, start: index, end: spelled.end });
        position += spelled.letters.length;
        index = spelled.end;
        continue;
      }
    }
    const matched = take(index, false);
    if (matched === index && end - index >= LONGEST_WORD && end - index <= LONGEST_RUN_TOGETHER) {
      const word = text.slice(index, end);
      for (const hit of findRunTogether(word, trie, position)) hits.push({ ...hit, start: index, end });
      position += word.length >> 2;
    }
    const next = Math.max(matched, end);
    position += WORD_STEP * (matched > end ? 2 : 1);
    // A stem ends inside a word, a phrase at the end of one.
    index = matched > end ? wordEnd(next) : next;
  }
  return hits;
}

/** Meanings in letters without spaces between words. Matches do not overlap. */
function findRunTogether(letters: string, trie: PhraseTrie, position: number): Hit[] {
  const hits: Hit[] = [];
  let index = 0;
  while (index < letters.length) {
    const match = trie.longestAt(letters, index, true);
    if (match !== undefined && match.end - index >= SHORTEST_INSIDE) {
      hits.push({
        concepts: match.concepts,
        start: index,
        end: match.end,
        position: position + (index >> 2),
      });
      index = match.end;
    } else index += 1;
  }
  return hits;
}
