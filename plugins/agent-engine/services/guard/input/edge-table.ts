/** No edge leads to the root. */
const NONE = 0;

/** Integers by integer key: a Map would be most of what the check of a text costs. */
export interface EdgeTable {
  /** The target of an edge; 0 for none. */
  get(key: number): number;
}

/** A table of open addressing over the given edges. Keys and targets are positive and below 2^31. */
export function createEdgeTable(edges: ReadonlyMap<number, number>): EdgeTable {
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
    get(key) {
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
