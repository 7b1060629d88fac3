import { raw } from '@mikro-orm/core';
import type { Database, TenantEntityManager } from 'agent-gateway';
import { UsageRecordRow, type UsageRow } from './usage-record.ts';

const SUMMED = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'estimated',
  'costMicros',
  'costPicos',
] as const;

/** Sums of the columns of some records, and their number. */
export type UsageSums = Readonly<Record<(typeof SUMMED)[number] | 'count', number>>;

/** Which records are added up. Days are `YYYY-MM-DD`; they find the records, the moments draw the line. All ends are included. */
export interface UsageWindow {
  readonly firstDay: string;
  readonly lastDay: string;
  readonly from: Date;
  readonly to: Date;
}

/** The tenant's usage by day, one row each; days without usage have none. */
export function sumByDay(
  entities: TenantEntityManager,
  window: UsageWindow,
): Promise<(UsageSums & { readonly day: string })[]> {
  return entities.aggregate(UsageRecordRow, { where: within(window), by: ['day'], sum: SUMMED });
}

/** The same of all tenants together. */
export function sumByDayOfAll(
  database: Pick<Database, 'system'>,
  window: UsageWindow,
): Promise<(UsageSums & { readonly day: string })[]> {
  return sumAcrossTenants(database, within(window), 'day');
}

/** The usage of the named tenants, with the number of their sessions; tenants without usage have no row. */
export function sumByTenant(
  database: Pick<Database, 'system'>,
  tenantIds: readonly string[],
  window: UsageWindow,
): Promise<(UsageSums & { readonly tenantId: string; readonly sessions: number })[]> {
  const where = { ...within(window), tenantId: { $in: [...tenantIds] } };
  return sumAcrossTenants(database, where, 'tenantId', { sessions: 'sessionId' });
}

function within({ firstDay, lastDay, from, to }: UsageWindow) {
  return { day: { $gte: firstDay, $lte: lastDay }, createdAt: { $gte: from, $lte: to } };
}

type Column = Exclude<keyof UsageRow & string, 'id'>;

/** What `TenantEntityManager.aggregate` does for one tenant, for all; `distinct` counts different values of properties. */
async function sumAcrossTenants<By extends 'day' | 'tenantId', Distinct extends string = never>(
  database: Pick<Database, 'system'>,
  where: ReturnType<typeof within> & { readonly tenantId?: { readonly $in: string[] } },
  by: By,
  distinct: Readonly<Record<Distinct, Column>> = {} as never,
): Promise<(UsageSums & Readonly<Record<By, string> & Record<Distinct, number>>)[]> {
  const em = database.system();
  const { properties } = em.getMetadata().get(UsageRecordRow);
  const column = (name: Column) => `row.${properties[name].fieldNames[0]}`;
  const differing: readonly [string, Column][] = Object.entries(distinct);
  const builder = em
    .createQueryBuilder(UsageRecordRow, 'row')
    .select([
      raw('?? as ??', [column(by), by]),
      ...SUMMED.map((name) => raw('sum(??) as ??', [column(name), name])),
      ...differing.map(([alias, name]) => raw('count(distinct ??) as ??', [column(name), alias])),
      raw('count(*) as ??', ['count']),
    ] as never)
    .where(where)
    .groupBy(by as never);
  const rows = await builder.execute<Record<string, unknown>[]>('all', false);
  // Sums come as text where they could be larger than the driver's numbers.
  return rows.map(({ [by]: group, ...sums }) => {
    const numbers = Object.entries(sums).map(([name, sum]) => [name, Number(sum)]);
    return { ...Object.fromEntries(numbers), [by]: group };
  });
}
