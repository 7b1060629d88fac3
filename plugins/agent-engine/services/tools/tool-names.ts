/** Characters of a name at most, and those that providers accept in it. */
const MOST = 64;
const REFUSED = /[^a-zA-Z0-9_-]/g;

/** A text as a name that every provider accepts: what it refuses becomes `_`, and the end of a long one is cut. */
export function toToolName(text: string): string {
  return text.replace(REFUSED, '_').slice(0, MOST) || '_';
}

/**
 * Names for things that a model calls, each different from the others and from those that are taken: the second `search` is `search_2`. The same
 * wishes in the same order give the same names. Pure.
 */
export function uniqueNames(wishes: readonly string[], taken: Iterable<string> = []): readonly string[] {
  const used = new Set(taken);
  const counts = new Map<string, number>();
  return wishes.map((wish) => {
    const base = toToolName(wish);
    let count = counts.get(base) ?? 1;
    let name = base;
    while (used.has(name)) {
      count += 1;
      const suffix = `_${count}`;
      name = base.slice(0, MOST - suffix.length) + suffix;
    }
    counts.set(base, count);
    used.add(name);
    return name;
  });
}
