import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';

/** Lengths of the columns, in characters; `003-usage` says the same to the database. */
export const USAGE_LENGTHS = {
  sessionId: 128,
  userId: 255,
  identityId: 255,
  model: 255,
  provider: 64,
  providerModel: 255,
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
  },
});

/** A row of `usage_records`. */
export type UsageRow = InferEntity<typeof UsageRecordRow>;

/** Writes records of the tenant in one statement. */
export function insertUsage(
  entities: TenantEntityManager,
  rows: readonly Omit<UsageRow, 'tenantId'>[],
): Promise<void> {
  return entities.insertMany(UsageRecordRow, rows);
}

/** A page of the records of a session, newest first, and the number of all. */
export function findSessionUsage(
  entities: TenantEntityManager,
  where: Pick<UsageRow, 'sessionId'> & Partial<Pick<UsageRow, 'userId' | 'identityId'>>,
  { limit, offset }: Page,
): Promise<[UsageRow[], number]> {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  return entities.findAndCount(UsageRecordRow, where, { orderBy, limit, offset });
}
