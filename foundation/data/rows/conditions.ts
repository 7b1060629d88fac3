import type { PlainValue } from '../drivers/values.ts';
import type { PlainColumn, PlainEntity } from './plain-entity.ts';

/** A value without MikroORM's marks on its type (`Opt`, …). */
type Unmarked<V> = V extends string
  ? string
  : V extends number
    ? number
    : V extends boolean
      ? boolean
      : V extends bigint
        ? bigint
        : V;

type Comparable<V> = Unmarked<NonNullable<V>>;

/** What a property is compared with: a value, null, or operators that all have to hold. */
export type PlainCondition<V> =
  | Comparable<V>
  | null
  | {
      readonly $gt?: Comparable<V>;
      readonly $gte?: Comparable<V>;
      readonly $lt?: Comparable<V>;
      readonly $lte?: Comparable<V>;
      readonly $ne?: Comparable<V> | null;
      readonly $in?: readonly Comparable<V>[];
    };

/** Conditions that all have to hold, by property. */
export type PlainWhere<E> = { readonly [K in keyof E & string]?: PlainCondition<E[K]> };

/** Puts a value into a statement: gives the text that stands for it, a literal or a placeholder. */
export type Put = (value: PlainValue) => string;

/** Conditions in SQL, once their values are put in. */
export type Conditions = (put: Put) => string[];

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['$gt', '>'],
  ['$gte', '>='],
  ['$lt', '<'],
  ['$lte', '<='],
]);

/**
 * A `where` in SQL, or undefined where it is not of the simple forms of `PlainWhere`. An `undefined` in it is never
 * "any".
 */
export function conditions(entity: PlainEntity, where: unknown): Conditions | undefined {
  if (!isPlainObject(where)) return undefined;
  const found: ((put: Put) => string)[] = [];
  for (const name of Object.keys(where)) {
    const column = entity.columns.get(name);
    const parts = column === undefined || column.isJson ? undefined : ofColumn(column, where[name]);
    if (parts === undefined) return undefined;
    found.push(...parts);
  }
  return (put) => found.map((condition) => condition(put));
}

function ofColumn(column: PlainColumn, condition: unknown): readonly ((put: Put) => string)[] | undefined {
  if (!isPlainObject(condition)) return together([compare(column, '=', condition)]);
  const operators = Object.entries(condition);
  if (operators.length === 0) return undefined;
  return together(
    operators.map(([operator, value]) => {
      if (operator === '$in') return among(column, value);
      if (operator === '$ne') return compare(column, '!=', value);
      const sql = COMPARISONS.get(operator);
      return sql === undefined || value === null ? undefined : compare(column, sql, value);
    }),
  );
}

function compare(column: PlainColumn, operator: string, value: unknown): ((put: Put) => string) | undefined {
  if (value === null) return () => `${column.sql} is${operator === '=' ? '' : ' not'} null`;
  const stored = comparable(column, value);
  return stored === undefined ? undefined : (put) => `${column.sql} ${operator} ${put(stored)}`;
}

function among(column: PlainColumn, values: unknown): ((put: Put) => string) | undefined {
  if (!Array.isArray(values)) return undefined;
  if (values.length === 0) return () => '1 = 0';
  const stored = together(values.map((value) => (value === null ? undefined : comparable(column, value))));
  if (stored === undefined) return undefined;
  return (put) => `${column.sql} in (${stored.map((value) => put(value)).join(', ')})`;
}

/** Bytes are compared through MikroORM alone: no caller needs more. */
function comparable(column: PlainColumn, value: unknown): PlainValue | undefined {
  return Buffer.isBuffer(value) ? undefined : column.toDatabase(value);
}

/** All of them, or undefined where one is missing. */
function together<T>(items: readonly (T | undefined)[]): readonly T[] | undefined {
  return items.every((item) => item !== undefined) ? items : undefined;
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Object.getOwnPropertySymbols(value).length > 0)
    return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
