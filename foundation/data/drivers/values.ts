import { isStorableText } from '../../base/storable-text.ts';
import { DatabaseErrors } from '../errors.ts';

/** A value of which every family has a literal, and SQLite a binding, that mean the same. */
export type PlainValue = string | number | bigint | boolean | Date | Buffer | null;

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

/**
 * True for a value that a statement can hold without further thought: no SQL, no NaN, no invalid date, no object of a
 * class.
 */
export function isPlainValue(value: unknown): value is PlainValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'bigint':
      return value >= MIN_INT64 && value <= MAX_INT64;
    case 'object':
      if (value instanceof Date) return !Number.isNaN(value.getTime());
      return value === null || Buffer.isBuffer(value);
    default:
      return false;
  }
}

/**
 * Refuses text before a database sees it that not every family keeps as it is: PostgreSQL ends a message at U+0000, and
 * half a surrogate pair would become another character on the way.
 *
 * @throws `database.invalid-value`
 */
export function assertStorable(value: unknown): void {
  if (typeof value === 'string' ? isStorableText(value) : !Array.isArray(value)) return;
  if (typeof value === 'string') throw DatabaseErrors.invalidValue();
  for (const element of value as readonly unknown[]) assertStorable(element);
}

/**
 * A value as better-sqlite3 binds it, so that SQLite stores what it would store for MikroORM's literal.
 *
 * @throws `database.invalid-value` for text that cannot be stored
 */
export function sqliteBinding(value: PlainValue): string | number | bigint | Buffer | null {
  assertStorable(value);
  // A bound number is a floating point number, which a column of text would keep as "5.0".
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (value instanceof Date) return BigInt(value.getTime());
  return value;
}
