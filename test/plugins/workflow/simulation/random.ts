/** Numbers that a seed decides. The same seed gives the same numbers, on every machine. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer, both ends included. */
  integer(least: number, most: number): number;
  isTrue(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** Small mostly, large sometimes: `typical` is the median, `most` the cap. */
  longTailed(typical: number, most: number): number;
  /** Numbers of its own, so that what one part draws does not shift what another part draws. */
  fork(name: string): Random;
}

/** A generator (sfc32) whose state is mixed from the seed's text. */
export function createRandom(seed: string): Random {
  let [a, b, c, counter] = [mix(seed, 1), mix(seed, 2), mix(seed, 3), 1];
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 12; round += 1) next();
  return {
    next,
    integer: (least, most) => least + Math.floor(next() * (most - least + 1)),
    isTrue: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)]!,
    longTailed: (typical, most) => Math.min(most, typical * 0.5 * (0.1 + 1 / (1.0001 - next())) ** 0.9),
    fork: (name) => createRandom(`${seed}/${name}`),
  };
}

/** FNV-1a of a text, finished as in MurmurHash3: neighbouring seeds give unlike states. */
function mix(text: string, salt: number): number {
  let hash = 0x811c9dc5 ^ salt;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}
