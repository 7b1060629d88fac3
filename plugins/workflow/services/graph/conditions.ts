import type { Condition, Json, Operator } from '../../contract/graph.ts';
import type { CompiledEdge } from './compiled-graph.ts';
import { jsonEqual } from './json.ts';
import { compareText } from './links.ts';
import { isFault, parseReference, readReference } from './template.ts';

/** Compiles a condition. Throws for one whose `field` is no path; `checkGraph` reports it before. */
export function compileCondition(condition: Condition): NonNullable<CompiledEdge['condition']> {
  if ('outcome' in condition) return { kind: 'outcome', outcome: condition.outcome };
  const { field, op, value = null } = condition;
  const reference = parseReference(field);
  if (isFault(reference)) throw new Error(`The field of a condition ${reference.message}`);
  return { kind: 'field', matches: (data) => compare(op, readReference(reference, data), value) };
}

/**
 * Compares what a path led to with the value of a condition (decisions 2.2). `undefined` is a path that led nowhere:
 * every operator is false then, except `ne` and `exists: false`. `null` is a value.
 */
export function compare(op: Operator, found: Json | undefined, value: Json): boolean {
  if (op === 'exists') return value === (found !== undefined);
  if (found === undefined) return op === 'ne';
  return COMPARISONS[op](found, value);
}

/** Nothing is coerced: values of other kinds than an operator is about do not match. */
const COMPARISONS: Readonly<Record<Exclude<Operator, 'exists'>, (found: Json, value: Json) => boolean>> = {
  eq: jsonEqual,
  ne: (found, value) => !jsonEqual(found, value),
  gt: (found, value) => order(found, value) > 0,
  gte: (found, value) => order(found, value) >= 0,
  lt: (found, value) => order(found, value) < 0,
  lte: (found, value) => order(found, value) <= 0,
  contains: (found, value) =>
    Array.isArray(found)
      ? hasMember(found, value)
      : areTexts(found, value) && containsText(found, value as string),
  startsWith: (found, value) => areTexts(found, value) && found.startsWith(value as string),
  endsWith: (found, value) => areTexts(found, value) && found.endsWith(value as string),
};

function hasMember(list: readonly Json[], value: Json): boolean {
  const isScalar = typeof value !== 'object' || value === null;
  return isScalar ? list.includes(value) : list.some((member) => jsonEqual(member, value));
}

/**
 * Below, at or above zero for two numbers, or for two texts, which are ordered by their UTF-16 code units; NaN for
 * everything else.
 */
function order(found: Json, value: Json): number {
  if (typeof found === 'number' && typeof value === 'number') return found - value;
  return areTexts(found, value) ? compareText(found, value as string) : Number.NaN;
}

function areTexts(found: Json, value: Json): found is string {
  return typeof found === 'string' && typeof value === 'string';
}

/**
 * Needles up to this length are left to the runtime: its search takes time that grows with the text times the needle in
 * the worst case, which is little for short ones.
 */
const SHORT = 16;

/** Whether a text is part of another one, in time linear in both lengths for any content (Knuth, Morris and Pratt). */
function containsText(text: string, needle: string): boolean {
  if (needle.length <= SHORT) return text.includes(needle);
  if (needle.length > text.length) return false;
  const borders = bordersOf(needle);
  let matched = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    while (matched > 0 && needle.charCodeAt(matched) !== unit) matched = borders[matched - 1]!;
    if (needle.charCodeAt(matched) === unit) matched += 1;
    if (matched === needle.length) return true;
  }
  return false;
}

/** For each beginning of a text the length of its longest proper part that it both begins and ends with. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let border = 0;
  for (let index = 1; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    while (border > 0 && text.charCodeAt(border) !== unit) border = borders[border - 1]!;
    if (text.charCodeAt(border) === unit) border += 1;
    borders[index] = border;
  }
  return borders;
}
