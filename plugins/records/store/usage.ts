import { type InferEntity, raw } from '@mikro-orm/core';
import { column, type Database, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';

/** Lengths of the columns, in characters; the migration `003-usage` has the same. */
export const USAGE_LENGTHS = {
  sessionId: 128,
  userId: 255,
  identityId: 255,
  model: 255,
  provider: 64,
  providerModel: 255,
  requestId: 255,
  traceId: 64,
} as const;

/**
 * One model call. What is summed are integers, since SQLite adds decimals as floating point and PostgreSQL adds no booleans: the cost is
 * `costMicros` millionths of a dollar, and `costPicos` millionths of such a millionth.
 */
export const UsageRecordRow = defineEntity({
  name: 'UsageRecordRow',
  tableName: 'usage_records',
  indexes: [
    { name: 'usage_records_tenant_day', properties: ['tenantId', 'day'] },
    { name: 'usage_records_session', properties: ['tenantId', 'sessionId', 'createdAt'] },
    { name: 'usage_records_request', properties: ['tenantId', 'requestId'] },
    // Reports over all tenants.
    { name: 'usage_records_day', properties: ['day', 'tenantId'] },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    sessionId: column.string(USAGE_LENGTHS.sessionId).strictNullable(),
    userId: column.string(USAGE_LENGTHS.userId),
    identityId: column.string(USAGE_LENGTHS.identityId),
    source: column.string(16),
    model: column.string(USAGE_LENGTHS.model),
    provider: column.string(USAGE_LENGTHS.provider),
    providerModel: column.string(USAGE_LENGTHS.providerModel),
    inputTokens: column.integer(),
    outputTokens: column.integer(),
    cacheReadTokens: column.integer(),
    cacheWriteTokens: column.integer(),
    /** 1 where the gateway counted the tokens, else 0. */
    estimated: column.integer(),
    costMicros: column.bigint(),
    costPicos: column.integer(),
    /** `YYYY-MM-DD` of `createdAt`, UTC. */
    day: column.string(10),
    createdAt: column.time(),
    /** These five are null in rows that were written before they were kept. */
    requestId: column.string(USAGE_LENGTHS.requestId).strictNullable(),
    traceId: column.string(USAGE_LENGTHS.traceId).strictNullable(),
    startedAt: column.time().strictNullable(),
    durationMs: column.integer().strictNullable(),
    status: column.string(16).strictNullable(),
  },
});

/** A row of `usage_records`. */
export type UsageRow = InferEntity<typeof UsageRecordRow>;

/** A page of the records that match, newest first, and the number of all. */
export function findUsage(
  entities: TenantEntityManager,
  where: Partial<Pick<UsageRow, 'sessionId' | 'requestId' | 'userId' | 'identityId'>>,
  { limit, offset }: Page,
): Promise<[UsageRow[], number]> {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  return entities.page(UsageRecordRow, where, { orderBy, limit, offset });
}

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
