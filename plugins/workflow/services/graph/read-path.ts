import type { Json } from '../../contract/graph.ts';
import type { ReadPath } from './compiled-graph.ts';

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Reads a member of nested JSON; array elements by number (`a.0`). Own members only, so that no path leads to what objects inherit, nor to the
 * `length` of an array. `undefined` when the path leads nowhere; `null` is a value (decisions 2.2).
 */
export const readPath: ReadPath = (value, path) => {
  let current: Json | undefined = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    if (Array.isArray(current) && !INDEX.test(name)) return undefined;
    if (!Object.hasOwn(current, name)) return undefined;
    current = (current as Readonly<Record<string, Json>>)[name];
  }
  return current;
};
