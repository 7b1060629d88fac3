import { Concept, type ConceptName, type Lexicon } from './concept.ts';
import { fold, readAs } from './fold.ts';

/** How characters take part in words. */
export const Letter = { separator: 0, word: 1, /** Of a script without spaces. */ unspaced: 2 } as const;

const SPACE_CLASS = 1;
const UNKNOWN_CLASS = 2;
/** Room for the classes of a node's edges in one small integer. */
const CLASSES = 1024;
/** What may stand between the words of a phrase: an apostrophe, a hyphen, a comma and a blank. */
const MAX_SEPARATORS = 3;

const WORD = /[\p{L}\p{N}\p{M}@$]/u;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ー]/u;

/** All lexicons as one trie over classes of characters: a look-alike is the letter itself. */
export type PhraseTrie = ReturnType<typeof createPhraseTrie>;

/** Builds the trie. Phrases are folded as texts are. */
export function createPhraseTrie(lexicons: readonly Lexicon[]) {
  const kinds = new Uint8Array(0x10000);
  const classes = new Uint16Array(0x10000);
  const classOf = new Map<string, number>([[' ', SPACE_CLASS]]);
  const edges = new Map<number, number>();
  // Per node: what a whole word means, and what a beginning means; -1 for neither.
  const whole: number[] = [-1];
  const stem: number[] = [-1];

  function insert(phrase: string, concepts: number): void {
    const isStem = phrase.endsWith('*');
    const letters = fold(isStem ? phrase.slice(0, -1) : phrase);
    let node = 0;
    for (const character of letters) {
      const letter = readAs(character);
      let kind = classOf.get(letter);
      if (kind === undefined) {
        kind = classOf.size + UNKNOWN_CLASS;
        classOf.set(letter, kind);
      }
      const key = node * CLASSES + kind;
      let next = edges.get(key);
      if (next === undefined) {
        next = whole.length;
        whole.push(-1);
        stem.push(-1);
        edges.set(key, next);
      }
      node = next;
    }
    const ends = isStem ? stem : whole;
    ends[node] = Math.max(0, ends[node]!) | concepts;
  }

  for (const lexicon of lexicons) {
    for (const [name, phrases] of Object.entries(lexicon)) {
      const concepts = name === 'harmless' ? 0 : Concept[name as ConceptName];
      for (const phrase of phrases.split(',')) insert(phrase.trim(), concepts);
    }
  }
  for (let code = 0; code < 0x10000; code += 1) {
    const character = String.fromCharCode(code);
    if (!WORD.test(character)) continue;
    kinds[code] = UNSPACED.test(character) ? Letter.unspaced : Letter.word;
    classes[code] = classOf.get(readAs(character)) ?? UNKNOWN_CLASS;
  }

  const table = createEdgeTable(edges);
  return {
    kindOf: (code: number): number => kinds[code]!,

    /** What the longest phrase that begins at `start` means, and where it ends. `unspaced` ignores where words end. */
    longestAt(text: string, start: number, unspaced: boolean) {
      let node = 0;
      let concepts = -1;
      let end = start;
      let index = start;
      for (;;) {
        const code = text.charCodeAt(index);
        const kind = index < text.length ? kinds[code]! : Letter.separator;
        if (kind === Letter.separator) {
          node = table.get(node * CLASSES + SPACE_CLASS);
          if (node === 0) break;
          const limit = Math.min(text.length, index + MAX_SEPARATORS);
          while (index < limit && kinds[text.charCodeAt(index)] === Letter.separator) index += 1;
          if (index === text.length || kinds[text.charCodeAt(index)] === Letter.separator) break;
        }
        const letter = classes[text.charCodeAt(index)]!;
        let next = table.get(node * CLASSES + letter);
        if (next === 0 && unspaced) {
          // Letters without spaces may hold a phrase of several words.
          const space = table.get(node * CLASSES + SPACE_CLASS);
          if (space !== 0) next = table.get(space * CLASSES + letter);
        }
        if (next === 0) break;
        node = next;
        index += 1;
        const following = index < text.length ? kinds[text.charCodeAt(index)]! : Letter.separator;
        const isEnd = following === Letter.separator || unspaced || kind === Letter.unspaced;
        const found = Math.max(stem[node]!, isEnd ? whole[node]! : -1);
        if (found < 0) continue;
        concepts = isEnd && whole[node]! >= 0 ? whole[node]! | Math.max(0, stem[node]!) : found;
        end = index;
      }
      return concepts < 0 ? undefined : { concepts, end };
    },
  };
}

/** No edge leads to the root. */
const NONE = 0;

/**
 * A table of open addressing over the given edges: a Map would be most of what the check of a text costs. Keys and
 * targets are positive and below 2^31.
 */
function createEdgeTable(edges: ReadonlyMap<number, number>) {
  const bits = Math.ceil(Math.log2(edges.size + 1)) + 2;
  const mask = 2 ** bits - 1;
  const shift = 32 - bits;
  const keys = new Int32Array(mask + 1);
  const targets = new Int32Array(mask + 1);
  const slotOf = (key: number) => Math.imul(key, 0x9e3779b1) >>> shift;

  for (const [key, target] of edges) {
    let slot = slotOf(key);
    while (keys[slot] !== 0) slot = (slot + 1) & mask;
    keys[slot] = key;
    targets[slot] = target;
  }
  return {
    /** The target of an edge; 0 for none. */
    get(key: number): number {
      let slot = slotOf(key);
      for (;;) {
        const found = keys[slot];
        if (found === key) return targets[slot]!;
        if (found === 0) return NONE;
        slot = (slot + 1) & mask;
      }
    },
  };
}
