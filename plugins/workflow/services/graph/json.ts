import { pointerSegment } from 'agent-gateway';
import type { Json, JsonObject } from '../../contract/graph.ts';

/** A member of an object that is its own: what objects inherit is not data. */
export function ownMember(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Reads a member of nested JSON; array elements by number (`a.0`). Own members only, so that no path leads to what
 * objects inherit, nor to the `length` of an array. `undefined` when the path leads nowhere; `null` is a value
 * (decisions 2.2).
 */
export function readPath(value: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    if (Array.isArray(current) && !INDEX.test(name)) return undefined;
    if (!Object.hasOwn(current, name)) return undefined;
    current = (current as Readonly<Record<string, Json>>)[name];
  }
  return current;
}

/** An RFC 6901 pointer to a member: names and indexes, each a segment. */
export function pointerTo(...segments: readonly (string | number)[]): string {
  return segments.map((segment) => `/${pointerSegment(String(segment))}`).join('');
}

/**
 * Whether two JSON values are the same: no coercion, the order of members does not count, that of elements does
 * (decisions 2.2). Needs no stack however deep they are. Values that were compared must not change any more.
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

/**
 * Member counts of large values: graphs compare the same output with many things, and listing its names takes as long
 * as it is large.
 */
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

/** What makes a value unusable as data of a graph. */
type JsonFault = 'not-json' | 'too-deep' | 'too-large';

/**
 * Looks whether a value is JSON of so many bytes (UTF-8, without spaces; default: any number) and levels at most. Needs
 * no stack, and ends soon with values that are far too large, shared many times or cyclic.
 */
export function jsonFault(
  value: unknown,
  { bytes = Number.POSITIVE_INFINITY, depth }: { readonly bytes?: number; readonly depth: number },
): JsonFault | undefined {
  let least = 0;
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isJsonKind(next.value)) return 'not-json';
    if (typeof next.value === 'string') least += next.value.length;
    if (typeof next.value === 'object' && next.value !== null) {
      if (next.depth > depth) return 'too-deep';
      const names = Object.keys(next.value);
      // Before they are noted, so that the notes have a bound.
      least += leastBytes(names, Array.isArray(next.value));
      if (least > bytes) return 'too-large';
      for (const name of names) {
        pending.push({ value: (next.value as Record<string, unknown>)[name], depth: next.depth + 1 });
      }
    }
    if (least > bytes) return 'too-large';
  }
  if (bytes === Number.POSITIVE_INFINITY) return undefined;
  // It is small and flat by now, so that writing it out is cheap.
  return Buffer.byteLength(JSON.stringify(value)) > bytes ? 'too-large' : undefined;
}

/** Fewer than the bytes that members take: what their values hold is left out. */
function leastBytes(names: readonly string[], isArray: boolean): number {
  if (isArray) return names.length * 2;
  return names.reduce((sum, name) => sum + name.length + 4, 0);
}

function isJsonKind(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value === null || Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Lengths of what was measured before. Values of a run never change, and a run in memory keeps the same objects from
 * state to state: each is written out once here, however many steps follow. A cache only: without it the result is the
 * same.
 */
const measured = new WeakMap<JsonObject, number>();

/** Characters of a value as JSON. What is nested too deeply to be written out has no length that any limit allows. */
export function jsonLength(value: JsonObject): number {
  let length = measured.get(value);
  if (length === undefined) {
    length = measure(value);
    measured.set(value, length);
  }
  return length;
}

function measure(value: JsonObject): number {
  try {
    return JSON.stringify(value).length;
  } catch (error) {
    if (error instanceof RangeError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
