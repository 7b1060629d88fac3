import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  type FilterQuery,
  raw,
} from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { DatabaseDefect, isUniqueViolation } from './errors.ts';
import { withRetries } from './retry.ts';
import { entityValue } from './rows/plain-entity.ts';
import { TENANT_PROPERTY } from './tenancy.ts';

/** How an upsert recognises the row and what it changes. */
export interface UpsertOptions<E> {
  /** Properties that, together with the tenant, are a unique key. */
  readonly conflict: readonly (keyof E & string)[];
  /** Properties to change in a row that exists; default: all that are given, but the key and the primary key. */
  readonly update?: readonly (keyof E & string)[];
}

type Row = Readonly<Record<string, unknown>>;

/** Writes `row` or updates the one of the same tenant and key. Never touches a row of another tenant. */
export async function upsert<E extends object>(
  em: SqlEntityManager,
  meta: EntityMetadata<E>,
  row: Row,
  options: UpsertOptions<E>,
  isMySql: boolean,
): Promise<void> {
  const key = [...new Set<string>([TENANT_PROPERTY, ...options.conflict])];
  assertUniqueKey(meta, key);
  const fixed = new Set<string>([...key, ...meta.primaryKeys]);
  const changed = (options.update ?? Object.keys(row)).filter((name) => !fixed.has(name));
  if (isMySql) return updateOrInsert(em, meta, row, key, changed);
  const conflict = em
    .createQueryBuilder(meta.class)
    .insert(row as never)
    .onConflict(key as never);
  await (changed.length === 0 ? conflict.ignore() : conflict.merge(changed as never)).execute();
}

/** How often a row may be inserted by one competitor and deleted by another before an upsert gives up. */
const ATTEMPTS = 5;

/**
 * MySQL's `on duplicate key update` looks at every unique key, the primary key included, and could so change a row of
 * another tenant. Two statements instead; when a competitor inserts in between, the row is there and the update finds
 * it, unless it was deleted since.
 */
async function updateOrInsert<E extends object>(
  em: SqlEntityManager,
  meta: EntityMetadata<E>,
  row: Row,
  key: readonly string[],
  changed: readonly string[],
): Promise<void> {
  const where = pick(row, key) as never;
  const update = async () => {
    if (changed.length === 0) return (await em.count(meta.class, where)) > 0;
    return (await em.nativeUpdate(meta.class, where, pick(row, changed) as never)) > 0;
  };
  const write = async () => {
    for (let attempt = 1; !(await update()); attempt += 1) {
      try {
        await em.insert(meta.class, row as never);
        return;
      } catch (error) {
        if (!isUniqueViolation(error) || attempt === ATTEMPTS) throw error;
      }
    }
  };
  // Competitors at one row may deadlock. That ends a transaction, whose caller has to begin it again; alone, the
  // statement has changed nothing.
  await withRetries(em.isInTransaction() ? 0 : ATTEMPTS, write);
}

function assertUniqueKey(meta: EntityMetadata, key: readonly string[]): void {
  const wanted = [...key].sort().join();
  const declared = [meta.primaryKeys, ...meta.uniques.map(({ properties }) => [properties ?? []].flat())];
  if (declared.some((properties) => [...properties].map(String).sort().join() === wanted)) return;
  throw new DatabaseDefect('unique-key', `${meta.className} has no unique key of (${key.join(', ')})`);
}

const pick = (row: Row, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, row[name]]));

/** What to add up. */
export interface AggregateQuery<E, By extends keyof E & string, Sum extends keyof E & string> {
  readonly where: FilterQuery<E>;
  /** Properties whose equal values make one group; none: one group of all. */
  readonly by?: readonly By[];
  /** Properties with numbers to add up. */
  readonly sum?: readonly Sum[];
}

/** One group: its values as rows have them, its sums (0 for none), and the number of its rows. */
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
  const meta = em.getMetadata().get(entity);
  const property = (name: string) => meta.properties[name as keyof typeof meta.properties] as EntityProperty;
  const field = (name: string) => property(name).fieldNames[0] as string;
  const builder = em
    .createQueryBuilder(entity, 'row')
    .select([
      ...by.map((name, n) => raw('?? as ??', [`row.${field(name)}`, `by_${n}`])),
      ...sum.map((name, n) => raw('coalesce(sum(??), 0) as ??', [`row.${field(name)}`, `sum_${n}`])),
      raw('count(*) as ??', ['count']),
    ] as never)
    .where({ $and: [scope, where] } as never);
  if (by.length > 0) builder.groupBy(by as never);
  const rows = await builder.execute<(Row & { readonly count: unknown })[]>('all', false);
  const platform = em.getPlatform();
  return rows.map((row) => {
    // As drivers give them, times and booleans differ from family to family.
    const stored = Object.fromEntries(by.map((name, n) => [field(name), row[`by_${n}`]]));
    const mapped = em.getDriver().mapResult(stored as never, meta) as Record<string, unknown>;
    const values = by.map((name) => [name, entityValue(property(name), mapped[name], platform)]);
    // Sums and counts come as text where they could be larger than the driver's numbers.
    const sums = sum.map((name, n) => [name, Number(row[`sum_${n}`])]);
    return { ...Object.fromEntries([...values, ...sums]), count: Number(row.count) };
  });
}
