import {
  type EntityName,
  type EntityProperty,
  type FilterQuery,
  type InferEntity,
  raw,
} from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { column, type Database, defineEntity, type TenantEntityManager } from 'agent-gateway';

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
 * One model call. What is summed are integers, since SQLite adds decimals as floating point and PostgreSQL adds no
 * booleans: the cost is `costMicros` millionths of a dollar, and `costPicos` millionths of such a millionth.
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

/** What of the records is added up. */
export const SUMMED = [
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

/**
 * Which records are added up. Days are `YYYY-MM-DD` and serve the index; the moments are the exact bounds. All ends are
 * included.
 */
export interface UsageWindow {
  readonly firstDay: string;
  readonly lastDay: string;
  readonly from: Date;
  readonly to: Date;
}

/** Which tenants: some, or all but some. */
export type OfTenants = { readonly $in: string[] } | { readonly $nin: string[] };

/** The tenant's usage by day, one row each; days without usage have none. */
export function sumByDay(
  entities: TenantEntityManager,
  window: UsageWindow,
): Promise<(UsageSums & { readonly day: string })[]> {
  return entities.aggregate(UsageRecordRow, { where: within(window), by: ['day'], sum: SUMMED });
}

/** The same across tenants, by day or by tenant. */
export function sumAcrossTenants<By extends 'day' | 'tenantId'>(
  database: Pick<Database, 'system'>,
  by: By,
  tenantId: OfTenants,
  window: UsageWindow,
): Promise<Grouped<By, keyof UsageSums>[]> {
  const where = { ...within(window), tenantId };
  return grouped(database.system(), UsageRecordRow, { by, sum: SUMMED, also: { count: 'count(*)' }, where });
}

/**
 * How many different sessions had a call in the window, by tenant. With `known` only sessions without a call between
 * its two moments; `known` ends before the window or begins after it.
 */
export function countSessions(
  database: Pick<Database, 'system'>,
  tenantIds: readonly string[],
  window: UsageWindow,
  known?: Pick<UsageWindow, 'from' | 'to'>,
): Promise<Grouped<'tenantId', 'sessions'>[]> {
  return grouped(database.system(), UsageRecordRow, {
    by: 'tenantId',
    sum: [],
    also: { sessions: 'count(distinct record.session_id)' },
    where: { ...within(window), tenantId: { $in: [...tenantIds] } },
    ...(known && { and: [HAD_NO_CALL, [known.from, known.to]] }),
  });
}

const HAD_NO_CALL = `not exists (select 1 from usage_records as other where other.tenant_id = record.tenant_id
  and other.session_id = record.session_id and other.created_at between ? and ?)`;

function within({ firstDay, lastDay, from, to }: UsageWindow) {
  return { day: { $gte: firstDay, $lte: lastDay }, createdAt: { $gte: from, $lte: to } };
}

/** A group: what its rows have in common, and numbers. */
export type Grouped<By extends string, Name extends string> = Readonly<
  Record<By, string> & Record<Name, number>
>;

/**
 * What `TenantEntityManager.aggregate` does for one tenant, for all: rows of a table, called `record`, in groups of
 * equal values.
 */
export async function grouped<
  E extends object,
  By extends keyof E & string,
  Sum extends keyof E & string,
  Name extends string = never,
>(
  em: SqlEntityManager,
  entity: EntityName<E>,
  query: {
    readonly by: By;
    readonly sum: readonly Sum[];
    /** More numbers of each group, in SQL. */
    readonly also?: Readonly<Record<Name, string>>;
    readonly where: FilterQuery<NoInfer<E>>;
    /** A condition in SQL, and its values. */
    readonly and?: readonly [sql: string, values: readonly unknown[]];
  },
): Promise<Grouped<By, Sum | Name>[]> {
  const { by, sum, also = {}, where, and } = query;
  const properties: Readonly<Record<string, EntityProperty>> = em.getMetadata().get(entity).properties;
  const column = (name: string) => `record.${properties[name]?.fieldNames[0]}`;
  const builder = em
    .createQueryBuilder(entity, 'record')
    .select([
      raw('?? as ??', [column(by), by]),
      ...sum.map((name) => raw('sum(??) as ??', [column(name), name])),
      ...Object.entries(also).map(([name, sql]) => raw(`${sql} as ??`, [name])),
    ] as never)
    .where(where as never)
    .groupBy(by as never);
  if (and !== undefined) builder.andWhere(and[0], [...and[1]]);
  const rows = await builder.execute<Record<string, unknown>[]>('all', false);
  // Numbers come as text where they could be larger than the driver's.
  return rows.map(({ [by]: group, ...rest }) => {
    const numbers = Object.entries(rest).map(([name, number]) => [name, Number(number)]);
    return { ...Object.fromEntries(numbers), [by]: group };
  });
}
