import type { Json } from '../../contract/graph.ts';

/**
 * Whether two JSON values are the same: no coercion, the order of members does not count, that of elements does (decisions 2.2). Needs no stack
 * however deep they are.
 */
export function jsonEqual(left: Json, right: Json): boolean {
  const pairs: [Json, Json][] = [[left, right]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const names = Object.keys(a);
    if (names.length !== Object.keys(b).length) return false;
    for (const name of names) {
      if (!Object.hasOwn(b, name)) return false;
      pairs.push([memberOf(a, name), memberOf(b, name)]);
    }
  }
  return true;
}

function memberOf(value: object, name: string): Json {
  return (value as Readonly<Record<string, Json>>)[name]!;
}
