import type { FindOptions } from '@mikro-orm/core';
import { refuseRawSql } from './raw-sql.ts';

/** What may be asked of a read. Filters, schemas, raw SQL and connections are not for the asker to choose. */
export type TenantFindOptions<
  E,
  Hint extends string = never,
  Fields extends string = never,
  Excludes extends string = never,
> = Pick<
  FindOptions<E, Hint, Fields, Excludes>,
  'populate' | 'fields' | 'exclude' | 'orderBy' | 'limit' | 'offset' | 'lockMode' | 'refresh' | 'strategy'
>;

/**
 * The options for MikroORM: those that may be asked for and no other. `property` is the tenant's, which is always loaded: a flush has
 * to know whose row it writes.
 */
export function findOptions<
  E extends object,
  Hint extends string,
  Fields extends string,
  Excludes extends string,
>(
  property: string,
  options: TenantFindOptions<E, Hint, Fields, Excludes> | undefined,
): FindOptions<E, Hint, Fields, Excludes> & { using?: never[] } {
  if (options === undefined) return {};
  const { populate, fields, exclude, orderBy, limit, offset, lockMode, refresh, strategy } = options;
  refuseRawSql(orderBy);
  const loaded =
    fields === undefined ? {} : { fields: [...(fields as readonly string[]), property] as never };
  const kept =
    exclude === undefined
      ? {}
      : { exclude: (exclude as readonly string[]).filter((name) => name !== property) as never };
  return {
    populate,
    orderBy,
    limit,
    offset,
    lockMode,
    refresh,
    strategy,
    ...loaded,
    ...kept,
  } as FindOptions<E, Hint, Fields, Excludes> & { using?: never[] };
}
