import { foldCase, SEARCHED_RECORDS } from '../../base/text-search.ts';
import { DatabaseDefect } from '../errors.ts';
import type { Family } from '../family.ts';
import type { Conditions } from './conditions.ts';
import type { PlainColumn, PlainEntity } from './plain-entity.ts';
import {
  allOf,
  known,
  limits,
  listed,
  orderedBy,
  orderOf,
  type RowsQuery,
  type Selection,
  type Statement,
  wholeRows,
} from './statement.ts';

/** A text that rows have to hold. */
export interface TextSearch<E> {
  /** What is looked for; letters A to Z are found in either case, and no character has a meaning of its own. */
  readonly text: string;
  /** Properties with text, one of which has to hold it; null holds nothing. */
  readonly in: readonly (keyof E & string)[];
}

/**
 * Reads a page of the rows that hold a text, and counts them. Looked at are the first `SEARCHED_RECORDS` rows that meet
 * the conditions, in the order of the query: no index finds what stands inside a text. Only their searched columns are
 * read, since others may be large.
 *
 * @throws DatabaseDefect for a property that the entity does not have, or that is no text, for no property, no text and
 * no order
 */
export function searchStatements<E>(
  family: Family,
  entity: PlainEntity,
  where: readonly Conditions[],
  search: TextSearch<E>,
  query: RowsQuery<E>,
): Selection & { readonly count: Statement } {
  const searched = search.in.map((name) => known(entity, name));
  const order = orderOf(entity, query.orderBy);
  if (
    searched.length === 0 ||
    search.text === '' ||
    order.length === 0 ||
    searched.some(({ isText }) => !isText)
  ) {
    throw new DatabaseDefect('plain-rows', 'A search needs a text, properties that are text, and an order');
  }
  const { columns, range } = limits(entity, query);
  const { keys, table } = entity;
  const needed = [...new Set([...keys, ...order.map(({ column }) => column), ...searched])];
  const ordered = orderedBy(order);
  const text = foldCase(search.text);
  const found: Statement = (put) => {
    const newest = (read: readonly PlainColumn[]) =>
      `select ${listed(read)} from ${table} where ${allOf(where, put)}${ordered} limit ${put(SEARCHED_RECORDS)}`;
    // MySQL sorts a whole table rather than follow an index to the rows; the keys it takes from the index, in their
    // order.
    const first = family === 'mysql' ? wholeRows(entity, needed, [], newest(keys)) : newest(needed);
    const holds = searched.map(({ sql }) => HOLDS[family](sql, put(text), text));
    return ` from (${first}) as searched where (${holds.join(' or ')})`;
  };
  return {
    columns,
    statement: (put) =>
      wholeRows(entity, columns, order, `select ${listed(keys)}${found(put)}${ordered}${range(put)}`),
    count: (put) => `select count(*) as found${found(put)}`,
  };
}

/**
 * The condition that a column holds a text that is folded. No pattern is matched, so none has to be escaped. What
 * `lower` does beyond A to Z differs from family to family: PostgreSQL's follows the collation, MySQL's knows other
 * alphabets and has no form that does not, so there the letters of the text are folded one by one.
 */
const HOLDS: Readonly<Record<Family, (column: string, text: string, folded: string) => string>> = {
  sqlite: (column, text) => `instr(lower(${column}), ${text}) > 0`,
  postgres: (column, text) => `strpos(lower(${column} collate "C"), ${text}) > 0`,
  mysql: (column, text, folded) => {
    const letters = [...new Set(folded.match(/[a-z]/g))];
    const lower = letters.reduce(
      (sql, letter) => `replace(${sql}, '${letter.toUpperCase()}', '${letter}')`,
      column,
    );
    return `instr(${lower}, ${text}) > 0`;
  },
};
