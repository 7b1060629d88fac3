import { Concept, type ConceptName, type Lexicon } from './concept.ts';
import { fold, LOOK_ALIKES, readAs } from './fold.ts';

/** How characters take part in words. */
export const Letter = { separator: 0, word: 1, /** Of a script without spaces. */ unspaced: 2 } as const;

const SPACE_CLASS = 1;
const UNKNOWN_CLASS = 2;
/** Room for the classes of a node's edges in one small integer. */
const CLASSES = 1024;
/** What may stand between the words of a phrase: an apostrophe, a hyphen, a comma and a blank. */
const MAX_SEPARATORS = 3;

const WORDS = /[\p{L}\p{N}\p{M}@$]+/gv;
const UNSPACED_WORDS =
  /[[\p{L}\p{N}\p{M}]&&[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ー]]+/gv;

/** All lexicons as one trie over classes of characters: a look-alike is the letter itself. */
export type PhraseTrie = ReturnType<typeof createPhraseTrie>;

/** Builds the trie. Phrases are folded as texts are. */
export function createPhraseTrie(lexicons: readonly Lexicon[]) {
  const classOf = new Map<string, number>([[' ', SPACE_CLASS]]);
  const entries = lexicons.flatMap((lexicon) =>
    Object.entries(lexicon).map(([name, phrases]) => ({
      phrases: fold(phrases),
      concepts: name === 'harmless' ? 0 : Concept[name as ConceptName],
    })),
  );
  const table = createEdgeTable(entries.reduce((length, { phrases }) => length + phrases.length, 0));
  // Per node: what a whole word means, and what a beginning means; -1 for neither.
  const whole: number[] = [-1];
  const stem: number[] = [-1];

  function insert(phrase: string, concepts: number): void {
    const isStem = phrase.endsWith('*');
    let node = 0;
    for (const character of isStem ? phrase.slice(0, -1) : phrase) {
      const letter = readAs(character);
      let kind = classOf.get(letter);
      if (kind === undefined) {
        kind = classOf.size + UNKNOWN_CLASS;
        classOf.set(letter, kind);
      }
      const next = table.getOrAdd(node * CLASSES + kind, whole.length);
      if (next === whole.length) {
        whole.push(-1);
        stem.push(-1);
      }
      node = next;
    }
    const ends = isStem ? stem : whole;
    ends[node] = Math.max(0, ends[node]!) | concepts;
  }

  for (const { phrases, concepts } of entries)
    for (const phrase of phrases.split(',')) insert(phrase.trim(), concepts);
  const { kinds, classes } = classify(classOf);
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

/** Of each UTF-16 code unit, how it takes part in words, and the class of the letter as which it is read. */
function classify(classOf: ReadonlyMap<string, number>) {
  const kinds = new Uint8Array(0x10000);
  const classes = new Uint16Array(0x10000);
  const units = new Uint16Array(0x10000).map((_, code) => code);
  const all = Buffer.from(units.buffer).toString('utf16le');
  // Whole ranges at once: to ask for each unit would take longer than all else here.
  for (const { 0: run, index } of all.matchAll(WORDS)) {
    kinds.fill(Letter.word, index, index + run.length);
    classes.fill(UNKNOWN_CLASS, index, index + run.length);
  }
  for (const { 0: run, index } of all.matchAll(UNSPACED_WORDS))
    kinds.fill(Letter.unspaced, index, index + run.length);
  for (const [character, letter] of [...[...classOf.keys()].map((key) => [key, key]), ...LOOK_ALIKES]) {
    const code = character!.charCodeAt(0);
    if (character!.length === 1 && kinds[code] !== Letter.separator)
      classes[code] = classOf.get(letter!) ?? UNKNOWN_CLASS;
  }
  return { kinds, classes };
}

/**
 * Edges in a table of open addressing: a Map would be most of what the check of a text costs. Keys and targets are
 * positive and below 2^31.
 *
 * @param capacity the most edges that are added
 */
function createEdgeTable(capacity: number) {
  const bits = Math.ceil(Math.log2(capacity + 1)) + 1;
  const mask = 2 ** bits - 1;
  const shift = 32 - bits;
  const keys = new Int32Array(mask + 1);
  const targets = new Int32Array(mask + 1);

  /** Where a key is, or would be. */
  function slotOf(key: number): number {
    let slot = Math.imul(key, 0x9e3779b1) >>> shift;
    for (;;) {
      const found = keys[slot];
      if (found === key || found === 0) return slot;
      slot = (slot + 1) & mask;
    }
  }
  return {
    /** The target of an edge; 0, to which no edge leads, for none. */
    get: (key: number): number => targets[slotOf(key)]!,

    /** The target of an edge, which is added where there is none. */
    getOrAdd(key: number, target: number): number {
      const slot = slotOf(key);
      if (keys[slot] === 0) {
        keys[slot] = key;
        targets[slot] = target;
      }
      return targets[slot]!;
    },
  };
}
