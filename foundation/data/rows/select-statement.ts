import { DatabaseDefect } from '../errors.ts';
import type { Conditions } from './conditions.ts';
import type { PlainColumn, PlainEntity } from './plain-entity.ts';
import type { Statement } from './statement.ts';

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
 * A `select` of the rows that meet the conditions.
 *
 * @throws DatabaseDefect for a property that the entity does not have, and for a limit or offset that is no count
 */
export function selectStatement<E>(
  entity: PlainEntity,
  where: readonly Conditions[],
  { fields, orderBy = {}, limit, offset = 0 }: RowsQuery<E>,
): Selection {
  const columns =
    fields === undefined ? [...entity.columns.values()] : fields.map((name) => known(entity, name));
  const order = Object.entries(orderBy).map(([name, direction]) => {
    if (direction !== 'asc' && direction !== 'desc')
      refuse(`Rows are ordered asc or desc by ${name}, nothing else`);
    return `${known(entity, name).sql} ${direction}`;
  });
  assertCount(limit, 'limit');
  assertCount(offset, 'offset');
  const head = `select ${columns.map(({ sql }) => sql).join(', ')} from ${entity.table} where `;
  const ordered = order.length === 0 ? '' : ` order by ${order.join(', ')}`;
  return {
    columns,
    statement: (put) =>
      `${head}${where.flatMap((of) => of(put)).join(' and ')}${ordered} limit ${put(limit)}${offset === 0 ? '' : ` offset ${put(offset)}`}`,
  };
}

function known(entity: PlainEntity, name: string): PlainColumn {
  return entity.columns.get(name) ?? refuse(`The entity has no property ${name}`);
}

function assertCount(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) refuse(`The ${name} of rows is a whole number from 0`);
}

function refuse(message: string): never {
  throw new DatabaseDefect('plain-rows', message);
}
