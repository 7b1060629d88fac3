const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/** JSON that is nested deeper goes the long way. */
const MAX_DEPTH = 32;

/** A value of which every family has a literal, and SQLite a binding, that mean the same. */
export type PlainValue = string | number | bigint | boolean | Date | Buffer | null;

/** True for a value that a statement can hold without further thought: no SQL, no NaN, no invalid date, no object of a class. */
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

/** True for what JSON can say exactly. MikroORM turns an `undefined` inside into null, and entities into their keys. */
export function isPlainJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((element) => isPlainJson(element, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((element) => isPlainJson(element, depth + 1));
}

/** A value as better-sqlite3 binds it, so that SQLite stores what it would store for MikroORM's literal. */
export function sqliteBinding(value: PlainValue): string | number | bigint | Buffer | null {
  // A bound number is a floating point number, which a column of text would keep as "5.0".
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (value instanceof Date) return BigInt(value.getTime());
  return value;
}
