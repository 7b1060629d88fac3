import type { Json } from '../../contract/graph.ts';

/**
 * Whether two JSON values are the same: no coercion, the order of members does not count, that of elements does (decisions 2.2). Needs no stack
 * however deep they are. Values that were compared must not change any more.
 */
export function jsonEqual(left: Json, right: Json): boolean {
  if (left === right) return true;
  const pairs: [Json, Json][] = [[left, right]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const names = memberNames(a, b);
    if (names === undefined) return false;
    for (const name of names) {
      if (!Object.hasOwn(a, name)) return false;
      pairs.push([memberOf(a, name), memberOf(b, name)]);
    }
  }
  return true;
}

/** Member counts of large values: graphs compare the same output with many things, and listing its names takes as long as it is large. */
const counts = new WeakMap<object, number>();
/** Members from which on a count is kept. */
const LARGE = 100;

/** Names of the members of `b`; undefined where `a` has more or fewer. */
function memberNames(a: object, b: object): readonly string[] | undefined {
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) return undefined;
  const names = Object.keys(b);
  return countOf(a) === names.length ? names : undefined;
}

function countOf(value: object): number {
  const known = counts.get(value);
  if (known !== undefined) return known;
  const count = Object.keys(value).length;
  if (count >= LARGE) counts.set(value, count);
  return count;
}

function memberOf(value: object, name: string): Json {
  return (value as Readonly<Record<string, Json>>)[name]!;
}
