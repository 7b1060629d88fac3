import { type EntityName, type EntityProperty, type FilterQuery, raw } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';

/** What to add up. */
export interface AggregateQuery<E, By extends keyof E & string, Sum extends keyof E & string> {
  readonly where: FilterQuery<E>;
  /** Properties whose equal values make one group; none: one group of all. */
  readonly by?: readonly By[];
  /** Properties with numbers to add up. */
  readonly sum?: readonly Sum[];
}

/** One group: its values, its sums (0 for none), and the number of its rows. */
export type AggregateRow<E, By extends keyof E, Sum extends keyof E> = { readonly [K in By]: E[K] } & {
  readonly [K in Sum]: number;
} & { readonly count: number };

/** Runs an aggregate over the rows that match `where` and `scope` both. */
export async function aggregate<E extends object, By extends keyof E & string, Sum extends keyof E & string>(
  em: SqlEntityManager,
  entity: EntityName<E>,
  { where, by = [], sum = [] }: AggregateQuery<E, By, Sum>,
  scope: object,
): Promise<AggregateRow<E, By, Sum>[]> {
  const { properties } = em.getMetadata().get(entity);
  const column = (name: string) =>
    `row.${(properties[name as keyof typeof properties] as EntityProperty).fieldNames[0]}`;
  const builder = em
    .createQueryBuilder(entity, 'row')
    .select([
      ...by.map((name) => raw('?? as ??', [column(name), name])),
      ...sum.map((name) => raw('coalesce(sum(??), 0) as ??', [column(name), name])),
      raw('count(*) as ??', ['count']),
    ] as never)
    .where({ $and: [scope, where] } as never);
  if (by.length > 0) builder.groupBy(by as never);
  // Sums and counts come as text where they could be larger than the driver's numbers.
  const rows = await builder.execute<Record<string, unknown>[]>('all', false);
  const numbers = [...sum, 'count'];
  return rows.map((row) => {
    const converted = numbers.map((name) => [name, Number(row[name])]);
    return { ...row, ...Object.fromEntries(converted) } as AggregateRow<E, By, Sum>;
  });
}
