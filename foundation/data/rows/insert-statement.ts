import type { PlainValue } from '../drivers/values.ts';
import type { PlainColumn, PlainEntity } from './plain-entity.ts';
import type { Marks, Statement } from './statement.ts';

type Row = Readonly<Record<string, unknown>>;

/** Stands for a value that the database chooses. */
const LEFT_OUT = Symbol('left out');

type Stored = PlainValue | typeof LEFT_OUT;

/**
 * One `insert` of all rows, or undefined for none, and where only MikroORM can write them: a value that is not plain, a
 * property that the entity does not have. What one row gives and another leaves out becomes its default.
 *
 * @param defaultSql the keyword for what the database chooses; SQLite has none inside `values` and gets null, as from
 * MikroORM
 * @param common properties that every row has in addition to its own
 */
export function insertStatement(
  entity: PlainEntity,
  rows: readonly Row[],
  defaultSql: string | undefined,
  common: Row,
): Statement | undefined {
  const shape = rows.length === 0 ? undefined : insertShape(entity, rows, common);
  if (shape === undefined) return undefined;
  const values: Stored[] = [];
  const leftOut = defaultSql === undefined ? null : LEFT_OUT;
  for (const row of rows) {
    if (!store(shape.own, row, leftOut, values) || !store(shape.common, common, leftOut, values))
      return undefined;
  }
  return Object.assign(
    (put: (value: PlainValue) => string) => {
      const texts = values.map((value) => (value === LEFT_OUT ? defaultSql! : put(value)));
      const width = texts.length / rows.length;
      const tuple = (_: Row, index: number) =>
        `(${texts.slice(index * width, (index + 1) * width).join(', ')})`;
      return shape.head + rows.map(tuple).join(', ');
    },
    {
      template(marks: Marks) {
        if (!values.every((value) => value !== LEFT_OUT)) return undefined;
        return { text: shape.template(rows.length, marks), values };
      },
    },
  );
}

/** Adds what is stored of a row; false where a value is not plain. */
function store(columns: readonly PlainColumn[], row: Row, leftOut: Stored, values: Stored[]): boolean {
  for (const column of columns) {
    const value = storedValue(column, row, leftOut);
    if (value === undefined) return false;
    values.push(value);
  }
  return true;
}

/** As MikroORM decides: an explicit `undefined` is null, and null is the default where the column cannot be null. */
function storedValue(column: PlainColumn, row: Row, leftOut: Stored): Stored | undefined {
  const given = row[column.name];
  if (given !== undefined && given !== null) return column.toDatabase(given);
  const isGiven = Object.hasOwn(row, column.name);
  if (isGiven && column.isNullable) return null;
  if (column.default !== undefined) return column.toDatabase(column.default);
  return isGiven ? null : leftOut;
}

/** What inserts of the same columns have in common. */
interface InsertShape {
  /** Of each row. */
  readonly own: readonly PlainColumn[];
  /** Of what all rows have in addition to their own. */
  readonly common: readonly PlainColumn[];
  /** `insert into … values `. */
  readonly head: string;
  /** The whole insert of so many rows. */
  template(rows: number, marks: Marks): string;
}

/**
 * Shapes of an entity, and templates of a shape, that are kept. There are as many as the code has kinds of inserts:
 * few.
 */
const MAX_KEPT = 50;

const kept = new WeakMap<PlainEntity, Map<string, InsertShape>>();

/** The shape of an insert; undefined where a row has a property that is no column. */
function insertShape(entity: PlainEntity, rows: readonly Row[], common: Row): InsertShape | undefined {
  const names = sharedNames(rows);
  if (names === undefined) return makeShape(entity, allNames(rows), Object.keys(common));
  const key = `${names.join('\0')}\0\0${Object.keys(common).join('\0')}`;
  const shapes = kept.get(entity) ?? new Map<string, InsertShape>();
  const known = shapes.get(key);
  if (known !== undefined) return known;
  const shape = makeShape(entity, names, Object.keys(common));
  if (shape !== undefined && shapes.size < MAX_KEPT) kept.set(entity, shapes.set(key, shape));
  return shape;
}

function makeShape(
  entity: PlainEntity,
  names: Iterable<string>,
  commonNames: readonly string[],
): InsertShape | undefined {
  const own = columnsOf(entity, names);
  const common = columnsOf(entity, commonNames);
  if (own === undefined || common === undefined) return undefined;
  const columns = [...own, ...common];
  const head = `insert into ${entity.table} (${columns.map(({ sql }) => sql).join(', ')}) values `;
  const templates = new Map<string, string>();
  return {
    own,
    common,
    head,
    template(rows, marks) {
      const key = marks + rows;
      const known = templates.get(key);
      if (known !== undefined) return known;
      const template = head + placeholders(rows, columns.length, marks);
      if (templates.size < MAX_KEPT) templates.set(key, template);
      return template;
    },
  };
}

/** The properties of the rows where all give the same, in the same order; else undefined. */
function sharedNames(rows: readonly Row[]): readonly string[] | undefined {
  const [first, ...others] = rows;
  const names = Object.keys(first ?? {});
  const isShared = others.every((row) => {
    const given = Object.keys(row);
    return given.length === names.length && given.every((name, index) => name === names[index]);
  });
  return isShared ? names : undefined;
}

/** The properties that any of the rows gives. */
function allNames(rows: readonly Row[]): Set<string> {
  return new Set(rows.flatMap((row) => Object.keys(row)));
}

function columnsOf(entity: PlainEntity, names: Iterable<string>): readonly PlainColumn[] | undefined {
  const columns: PlainColumn[] = [];
  for (const name of names) {
    const column = entity.columns.get(name);
    if (column === undefined) return undefined;
    columns.push(column);
  }
  return columns;
}

/** `($1, $2), ($3, $4)`, or `(?, ?), (?, ?)`. */
function placeholders(rows: number, columns: number, marks: Marks): string {
  const mark = (index: number) => (marks === '?' ? marks : `$${index + 1}`);
  const tuple = (row: number) =>
    `(${Array.from({ length: columns }, (_, column) => mark(row * columns + column)).join(', ')})`;
  return Array.from({ length: rows }, (_, row) => tuple(row)).join(', ');
}
