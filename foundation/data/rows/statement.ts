import type { PlainValue } from '../drivers/values.ts';
import { DatabaseDefect } from '../errors.ts';
import type { Family } from '../family.ts';
import type { Conditions, Put } from './conditions.ts';
import type { PlainColumn, PlainEntity } from './plain-entity.ts';

/** What stands for values in a text: `$1` and so on, or `?` for each. */
export type Marks = '$' | '?';

/** A statement apart from its values. */
interface Template {
  readonly text: string;
  readonly values: readonly PlainValue[];
}

/** A statement that is still without values. Written again with another `put`, it is the same statement. */
export interface Statement {
  (put: Put): string;
  /** Its template, where that costs less than writing it; undefined where a value is none (`default`). */
  readonly template?: (marks: Marks) => Template | undefined;
}

/** The template of a statement. */
export function templateOf(statement: Statement, marks: Marks): Template | undefined {
  if (statement.template !== undefined) return statement.template(marks);
  const values: PlainValue[] = [];
  const text = statement((value) => {
    const place = values.push(value);
    return marks === '?' ? marks : `$${place}`;
  });
  return { text, values };
}

/** Which rows, in which order, and what of them. */
export interface RowsQuery<E, Field extends keyof E & string = keyof E & string> {
  /** Properties to read; default: all. */
  readonly fields?: readonly Field[];
  /** The first property counts first. Without it the order is the database's. */
  readonly orderBy?: { readonly [K in keyof E & string]?: 'asc' | 'desc' };
  /** Rows at most. */
  readonly limit: number;
  /** Rows to pass over; default 0. */
  readonly offset?: number;
}

/** A statement that reads, and the columns that it reads. */
export interface Selection {
  readonly statement: Statement;
  readonly columns: readonly PlainColumn[];
}

/**
 * Rows to pass over from which on only their keys are read: an index holds those, and the rows themselves are many
 * times as large.
 */
const FAR = 500;

/**
 * A `select` of the rows that meet the conditions. Of rows far behind the first only those of the page are read whole.
 *
 * @throws DatabaseDefect for a property that the entity does not have, and for a limit or offset that is no count
 */
export function selectStatement<E>(
  entity: PlainEntity,
  where: readonly Conditions[],
  query: RowsQuery<E>,
): Selection {
  const { columns, range } = limits(entity, query);
  const order = orderOf(entity, query.orderBy);
  const ordered = orderedBy(order);
  const part = (read: readonly PlainColumn[], put: Put) =>
    `select ${listed(read)} from ${entity.table} where ${allOf(where, put)}${ordered}${range(put)}`;
  if (order.length === 0 || (query.offset ?? 0) < FAR)
    return { columns, statement: (put) => part(columns, put) };
  return { columns, statement: (put) => wholeRows(entity, columns, order, part(entity.keys, put)) };
}

/** A column that rows are ordered by. */
interface Ordered {
  readonly column: PlainColumn;
  readonly direction: 'asc' | 'desc';
}

/** The rows, in their order, whose keys `page` selects. */
export function wholeRows(
  { table, keys }: PlainEntity,
  columns: readonly PlainColumn[],
  order: readonly Ordered[],
  page: string,
): string {
  const same = keys.map(({ sql }) => `whole.${sql} = page.${sql}`).join(' and ');
  return `select ${listed(columns, 'whole.')} from ${table} as whole inner join (${page}) as page on ${same}${orderedBy(order, 'whole.')}`;
}

/** The columns, `of` a table (`whole.`). */
export function listed(columns: readonly PlainColumn[], of = ''): string {
  return columns.map(({ sql }) => `${of}${sql}`).join(', ');
}

/** ` order by …`; empty where the order is the database's. */
export function orderedBy(order: readonly Ordered[], of = ''): string {
  if (order.length === 0) return '';
  return ` order by ${order.map(({ column, direction }) => `${of}${column.sql} ${direction}`).join(', ')}`;
}

/** How many rows meet the conditions, as `found`. */
export function countStatement({ table }: PlainEntity, where: readonly Conditions[]): Statement {
  return (put) => `select count(*) as found from ${table} where ${allOf(where, put)}`;
}

/** The columns that a query reads, and the part of the rows that it asks for. */
export function limits<E>(entity: PlainEntity, { fields, limit, offset = 0 }: RowsQuery<E>) {
  assertCount(limit, 'limit');
  assertCount(offset, 'offset');
  const columns =
    fields === undefined ? [...entity.columns.values()] : fields.map((name) => known(entity, name));
  const range: Statement = (put) => ` limit ${put(limit)}${offset === 0 ? '' : ` offset ${put(offset)}`}`;
  return { columns, range };
}

/** The columns that rows are ordered by, the first one first. */
export function orderOf<E>(entity: PlainEntity, orderBy: RowsQuery<E>['orderBy'] = {}): readonly Ordered[] {
  return Object.entries(orderBy).map(([name, direction]) => {
    if (direction !== 'asc' && direction !== 'desc')
      refuse(`Rows are ordered asc or desc by ${name}, nothing else`);
    return { column: known(entity, name), direction };
  });
}

/** Conditions that all have to hold, in SQL. */
export function allOf(where: readonly Conditions[], put: Put): string {
  return where.flatMap((of) => of(put)).join(' and ') || '1 = 1';
}

/** The column of a property. Throws a `DatabaseDefect` for one that the entity does not have. */
export function known(entity: PlainEntity, name: string): PlainColumn {
  return entity.columns.get(name) ?? refuse(`The entity has no property ${name}`);
}

function assertCount(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) refuse(`The ${name} of rows is a whole number from 0`);
}

function refuse(message: string): never {
  throw new DatabaseDefect('plain-rows', message);
}

/** An `update` of all rows that meet the conditions, or undefined where only MikroORM can write the values. */
export function updateStatement(
  entity: PlainEntity,
  data: Readonly<Record<string, unknown>>,
  where: readonly Conditions[],
): Statement | undefined {
  const changes: { readonly sql: string; readonly value: PlainValue }[] = [];
  for (const name of Object.keys(data)) {
    const column = entity.columns.get(name);
    const value = data[name] === null ? null : column?.toDatabase(data[name]);
    if (column === undefined || value === undefined) return undefined;
    changes.push({ sql: column.sql, value });
  }
  if (changes.length === 0) return undefined;
  return (put) => {
    const sets = changes.map(({ sql, value }) => `${sql} = ${put(value)}`);
    return `update ${entity.table} set ${sets.join(', ')} where ${allOf(where, put)}`;
  };
}

/** A `delete` of all rows that match. */
export function deleteStatement(entity: PlainEntity, where: readonly Conditions[]): Statement {
  return (put) => `delete from ${entity.table} where ${allOf(where, put)}`;
}

/**
 * A `delete` of some rows that match, `most` at most, whichever they are. On PostgreSQL rows that other transactions
 * change meanwhile may be passed over.
 */
export function deleteSomeStatement(
  family: Family,
  { table }: PlainEntity,
  where: readonly Conditions[],
  most: number,
): Statement {
  return (put) => {
    const some = `where ${allOf(where, put)} limit ${put(most)}`;
    if (family === 'mysql') return `delete from ${table} ${some}`;
    if (family === 'sqlite')
      return `delete from ${table} where rowid in (select rowid from ${table} ${some})`;
    return `delete from ${table} where ctid = any(array(select ctid from ${table} ${some}))`;
  };
}
