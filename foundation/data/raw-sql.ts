import { isRaw } from '@mikro-orm/core';
import { DatabaseDefect } from './errors.ts';

/** Objects deeper than this are data (JSON), not conditions; MikroORM would not look there for SQL either. */
const MAX_DEPTH = 32;

/**
 * Refuses raw SQL anywhere in a condition, an order or a row. MikroORM takes fragments as values and as (symbol) keys; either
 * could lead out of the tenant, by a subquery or a closing parenthesis, on the families without row-level security.
 */
export function refuseRawSql(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  if (isRaw(value) || typeof (value as { toRaw?: unknown }).toRaw === 'function') refuse();
  if (Array.isArray(value)) {
    for (const element of value) refuseRawSql(element, depth + 1);
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return;
  refuseSymbols(value);
  for (const key of Object.keys(value)) refuseRawSql((value as Record<string, unknown>)[key], depth + 1);
}

/** Refuses raw SQL that is a key: MikroORM makes symbols for it. What else an object holds is left to others. */
export function refuseSymbols(value: object): void {
  if (Object.getOwnPropertySymbols(value).length > 0) refuse();
}

function refuse(): never {
  throw new DatabaseDefect(
    'raw-sql',
    'A tenant-bound entity manager takes no raw SQL; see increment and aggregate',
  );
}
