import type { PlainColumn, PlainEntity } from './plain-entity.ts';

type Row = Readonly<Record<string, unknown>>;

/** What inserts of the same columns have in common. */
export interface InsertShape {
  /** Of each row. */
  readonly own: readonly PlainColumn[];
  /** Of what all rows have beside their own. */
  readonly common: readonly PlainColumn[];
  /** `insert into … values `. */
  readonly head: string;
  /** The whole insert of so many rows, with `$1` and so on for its values. */
  template(rows: number): string;
}

/** Shapes of an entity, and templates of a shape, that are kept. There are as many as the code has kinds of inserts: few. */
const MAX_KEPT = 50;

const kept = new WeakMap<PlainEntity, Map<string, InsertShape>>();

/** The shape of an insert; undefined where a row has a property that is no column. */
export function insertShape(entity: PlainEntity, rows: readonly Row[], common: Row): InsertShape | undefined {
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
  const templates = new Map<number, string>();
  return {
    own,
    common,
    head,
    template(rows) {
      const known = templates.get(rows);
      if (known !== undefined) return known;
      const template = head + placeholders(rows, columns.length);
      if (templates.size < MAX_KEPT) templates.set(rows, template);
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

/** `($1, $2), ($3, $4)`. */
function placeholders(rows: number, columns: number): string {
  const tuple = (row: number) =>
    `(${Array.from({ length: columns }, (_, column) => `$${row * columns + column + 1}`).join(', ')})`;
  return Array.from({ length: rows }, (_, row) => tuple(row)).join(', ');
}
