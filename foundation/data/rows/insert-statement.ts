import { insertShape } from './insert-shape.ts';
import type { PlainColumn, PlainEntity } from './plain-entity.ts';
import type { PlainValue } from './plain-value.ts';
import type { Statement } from './statement.ts';

type Row = Readonly<Record<string, unknown>>;

/** Stands for a value that the database chooses. */
const LEFT_OUT = Symbol('left out');

type Stored = PlainValue | typeof LEFT_OUT;

/**
 * One `insert` of all rows, or undefined where only MikroORM can write them: a value that is not plain, a property that the entity does not
 * have. What one row gives and another leaves out becomes its default.
 *
 * @param defaultSql the keyword for what the database chooses; SQLite has none inside `values` and gets null, as from MikroORM
 * @param common properties that every row has beside its own
 */
export function insertStatement(
  entity: PlainEntity,
  rows: readonly Row[],
  defaultSql: string | undefined,
  common: Row = {},
): Statement | undefined {
  const shape = insertShape(entity, rows, common);
  if (shape === undefined) return undefined;
  const tuples: Stored[][] = [];
  for (const row of rows) {
    const tuple: Stored[] = [];
    if (!store(shape.own, row, tuple) || !store(shape.common, common, tuple)) return undefined;
    tuples.push(tuple);
  }
  return Object.assign(
    (put: (value: PlainValue) => string) => {
      const write = (value: Stored) => (value === LEFT_OUT ? (defaultSql ?? put(null)) : put(value));
      return shape.head + tuples.map((tuple) => `(${tuple.map(write).join(', ')})`).join(', ');
    },
    {
      template() {
        const values = tuples.flat();
        if (!values.every((value) => value !== LEFT_OUT)) return undefined;
        return { text: shape.template(tuples.length), values };
      },
    },
  );
}

/** Adds what is stored of a row; false where a value is not plain. */
function store(columns: readonly PlainColumn[], row: Row, tuple: Stored[]): boolean {
  for (const column of columns) {
    const value = storedValue(column, row);
    if (value === undefined) return false;
    tuple.push(value);
  }
  return true;
}

/** As MikroORM decides: an explicit `undefined` is null, and null is the default where the column cannot be null. */
function storedValue(column: PlainColumn, row: Row): Stored | undefined {
  const given = row[column.name];
  if (given !== undefined && given !== null) return column.toDatabase(given);
  const isGiven = Object.hasOwn(row, column.name);
  if (isGiven && column.isNullable) return null;
  if (column.default !== undefined) return column.toDatabase(column.default);
  return isGiven ? null : LEFT_OUT;
}
