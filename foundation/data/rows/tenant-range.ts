import type { EntityMetadata } from '@mikro-orm/core';
import type { RowsQuery } from './statement.ts';

type Row = Readonly<Record<string, unknown>>;

/** What the rows of a tenant are chosen by, and in which order they come. */
export interface TenantQuery {
  readonly bound: Row;
  readonly query: RowsQuery<unknown, never>;
}

/**
 * The same rows in the same order, asked for so that MariaDB begins at the first of them. Where the tenant is compared
 * with `=`, it finds the rows by the tenant alone, and passes over all that come before a bound in the index
 * (`created_at > …`): pages then cost more the further they are. Between two equal bounds the tenant is part of a
 * range, and first in the order, which it does not change.
 */
export function asTenantRange(
  meta: EntityMetadata,
  where: unknown,
  { bound, query }: TenantQuery,
): TenantQuery {
  const [tenant, ...more] = Object.entries(bound);
  const [first] = Object.entries<'asc' | 'desc'>(query.orderBy ?? {});
  if (tenant === undefined || more.length > 0 || first === undefined) return { bound, query };
  const [[name, value], [ordered, direction]] = [tenant, first];
  if (!isOfTenantIndex(meta, name, Object.entries(where as Row), ordered)) return { bound, query };
  const orderBy = { [name]: direction, ...query.orderBy };
  return { bound: { [name]: { $gte: value, $lte: value } }, query: { ...query, orderBy } };
}

/**
 * Whether the rows begin at a bound of what they are ordered by, in an index that begins with the tenant. Not where one
 * finds them by other properties, without the tenant: with the tenant first in the order it would not do.
 */
function isOfTenantIndex(
  { primaryKeys, indexes, uniques }: EntityMetadata,
  tenant: string,
  conditions: readonly (readonly [string, unknown])[],
  ordered: string,
): boolean {
  const same = new Set<unknown>([tenant]);
  for (const [name, condition] of conditions) if (!isRange(condition)) same.add(name);
  if (same.has(ordered) || !conditions.some(([name]) => name === ordered)) return false;
  // What comes before it is the same in all rows.
  const found = [{ properties: primaryKeys }, ...indexes, ...uniques]
    .map(({ properties }) => [properties].flat() as unknown[])
    .filter((properties) => properties.includes(ordered))
    .map((properties) => properties.slice(0, properties.indexOf(ordered)))
    .filter((before) => before.length > 0 && before.every((name) => same.has(name)));
  return found.length > 0 && found.every((before) => before.includes(tenant));
}

function isRange(condition: unknown): boolean {
  return typeof condition === 'object' && condition !== null && !(condition instanceof Date);
}
