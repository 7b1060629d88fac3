/** So many words of the prompt in a row are no coincidence. Shorter prompts are not protected. */
const SHINGLE = 12;
/** Weight of a run that is a leak: a word counts two, a character of a script without spaces one. */
const LEAK_WEIGHT = 24;
const WORD_WEIGHT = 2;
const CHARACTER_WEIGHT = 1;
const MODULUS = 2 ** 32;

const Kind = { separator: 1, word: 2, character: 3, mark: 4 } as const;
/** By code unit; 0 for those that no text has had yet. Classifying all of them would add 10 ms to every start. */
const kinds = new Uint8Array(0x10000);

function kindOf(code: number): number {
  const known = kinds[code]!;
  if (known !== 0) return known;
  const kind = sort(String.fromCharCode(code));
  kinds[code] = kind;
  return kind;
}

function sort(character: string): number {
  if (/\p{M}/u.test(character)) return Kind.mark;
  if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(character))
    return Kind.character;
  return /[\p{L}\p{N}]/u.test(character) ? Kind.word : Kind.separator;
}

/** Looks for a run of the secret's words in a text that arrives in pieces. */
export interface LeakDetector {
  /** Takes the next piece; true once the text holds a leak. */
  push(text: string): boolean;
  /** Ends the last word. */
  end(): boolean;
}

/**
 * A detector of runs of twelve words (24 characters of Chinese, Japanese or Thai) of `secret`. Case, punctuation,
 * accents and line breaks do not matter; a translation or an encoding is not seen. Memory: a number for each word of
 * the secret; time: linear in the text.
 */
export function createLeakDetector(secret: string): LeakDetector {
  const shingles = new Set<number>();
  const learner = createWordRuns((hash) => {
    shingles.add(hash);
    return false;
  });
  learner.push(secret);
  learner.end();
  if (shingles.size === 0) return { push: () => false, end: () => false };
  return createWordRuns((hash) => shingles.has(hash));
}

/** Cuts a text into words, and asks about each run of {@link SHINGLE} of them. */
function createWordRuns(matches: (hash: number) => boolean): LeakDetector {
  const words = new Float64Array(SHINGLE);
  const weights = new Uint8Array(SHINGLE);
  let count = 0;
  let word = 0;
  let isInWord = false;
  let run = 0;
  let isLeaking = false;

  function finish(hash: number, weight: number): void {
    const slot = count % SHINGLE;
    words[slot] = hash;
    weights[slot] = weight;
    count += 1;
    if (count < SHINGLE) return;
    if (!matches(hashOfRun(words, count))) run = 0;
    else run = run > 0 ? run + weight : weights.reduce((sum, each) => sum + each, 0);
    if (run >= LEAK_WEIGHT) isLeaking = true;
  }

  function endWord(): void {
    if (!isInWord) return;
    isInWord = false;
    finish(word >>> 0, WORD_WEIGHT);
    word = 0;
  }

  return {
    push(text) {
      const lower = text.toLowerCase();
      for (let index = 0; index < lower.length; index += 1) {
        const code = lower.charCodeAt(index);
        const kind = kindOf(code);
        if (kind === Kind.word) {
          // FNV-1a.
          word = Math.imul((isInWord ? word : 0x811c9dc5) ^ code, 0x01000193);
          isInWord = true;
        } else if (kind !== Kind.mark) {
          endWord();
          if (kind === Kind.character) finish(code, CHARACTER_WEIGHT);
        }
      }
      return isLeaking;
    },
    end() {
      endWord();
      return isLeaking;
    },
  };
}

/** One number of 52 bits for the last words, in their order. */
function hashOfRun(words: Float64Array, count: number): number {
  let high = 0;
  let low = 0;
  for (let index = count - SHINGLE; index < count; index += 1) {
    const word = words[index % SHINGLE]!;
    low = Math.imul(low ^ word, 0x01000193);
    high = Math.imul(high, 31) + word;
  }
  return (high & 0xfffff) * MODULUS + (low >>> 0);
}
