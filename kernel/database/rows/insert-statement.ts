import type { PlainColumn, PlainEntity } from './plain-entity.ts';
import type { PlainValue } from './plain-value.ts';
import type { Statement } from './statement.ts';

type Row = Readonly<Record<string, unknown>>;

/** Stands for a value that the database chooses. */
const LEFT_OUT = Symbol('left out');

/**
 * One `insert` of all rows, or undefined where only MikroORM can write them: a value that is not plain, a property that the entity does not
 * have. What one row gives and another leaves out becomes its default.
 *
 * @param defaultSql the keyword for what the database chooses; SQLite has none inside `values` and gets null, as from MikroORM
 */
export function insertStatement(
  entity: PlainEntity,
  rows: readonly Row[],
  defaultSql: string | undefined,
): Statement | undefined {
  const columns = columnsOf(entity, rows);
  if (columns === undefined) return undefined;
  const tuples: (PlainValue | typeof LEFT_OUT)[][] = [];
  for (const row of rows) {
    const tuple: (PlainValue | typeof LEFT_OUT)[] = [];
    for (const column of columns) {
      const value = storedValue(column, row);
      if (value === undefined) return undefined;
      tuple.push(value);
    }
    tuples.push(tuple);
  }
  const head = `insert into ${entity.table} (${columns.map(({ sql }) => sql).join(', ')}) values `;
  return (put) => {
    const write = (value: PlainValue | typeof LEFT_OUT) =>
      value === LEFT_OUT ? (defaultSql ?? put(null)) : put(value);
    return head + tuples.map((tuple) => `(${tuple.map(write).join(', ')})`).join(', ');
  };
}

/** The columns that any of the rows gives. */
function columnsOf(entity: PlainEntity, rows: readonly Row[]): readonly PlainColumn[] | undefined {
  const names = new Set<string>();
  for (const row of rows) {
    for (const name of Object.keys(row)) names.add(name);
  }
  const columns: PlainColumn[] = [];
  for (const name of names) {
    const column = entity.columns.get(name);
    if (column === undefined) return undefined;
    columns.push(column);
  }
  return columns;
}

/** As MikroORM decides: an explicit `undefined` is null, and null is the default where the column cannot be null. */
function storedValue(column: PlainColumn, row: Row): PlainValue | typeof LEFT_OUT | undefined {
  const given = row[column.name];
  if (given !== undefined && given !== null) return column.toDatabase(given);
  const isGiven = Object.hasOwn(row, column.name);
  if (isGiven && column.isNullable) return null;
  if (column.default !== undefined) return column.toDatabase(column.default);
  return isGiven ? null : LEFT_OUT;
}
