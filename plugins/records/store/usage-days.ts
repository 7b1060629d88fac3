import type { SqlEntityManager } from '@mikro-orm/sql';
import { column, type Database, defineEntity, type TenantEntityManager } from 'agent-gateway';
import { type Kysely, sql } from 'kysely';
import { type Grouped, grouped, type OfTenants, SUMMED, UsageRecordRow, type UsageSums } from './usage.ts';

/** The usage of a tenant on one day, added up: a report reads a row for each day, and no records. */
export const UsageDayRow = defineEntity({
  name: 'UsageDayRow',
  tableName: 'usage_days',
  // Reports over all tenants.
  indexes: [{ name: 'usage_days_day', properties: ['day', 'tenantId'] }],
  properties: {
    tenantId: column.tenant().primary(),
    day: column.string(10).primary(),
    inputTokens: column.bigint(),
    outputTokens: column.bigint(),
    cacheReadTokens: column.bigint(),
    cacheWriteTokens: column.bigint(),
    estimated: column.bigint(),
    costMicros: column.bigint(),
    costPicos: column.bigint(),
    requests: column.bigint(),
  },
});

/**
 * How many sessions of a tenant had a call on a day, by the day of their previous call (empty: none). The session
 * counts of several days cannot be added up, since one session may have calls on many, but these rows can: in a range
 * of days a session is counted only on its first day in it, the one whose `lastDay` is before the range.
 */
export const UsageDaySessionsRow = defineEntity({
  name: 'UsageDaySessionsRow',
  tableName: 'usage_day_sessions',
  properties: {
    tenantId: column.tenant().primary(),
    day: column.string(10).primary(),
    lastDay: column.string(10).primary(),
    sessions: column.bigint(),
  },
});

/** Up to which day, that day included, the usage of all tenants is added up. One row. */
export const UsageRollupRow = defineEntity({
  name: 'UsageRollupRow',
  tableName: 'usage_rollup',
  properties: { id: column.string(16).primary(), throughDay: column.string(10) },
});

/**
 * From which day on the sums of a tenant are invalid, because records were erased: reports read records instead, until
 * the days are added up again.
 */
export const UsageResetRow = defineEntity({
  name: 'UsageResetRow',
  tableName: 'usage_resets',
  indexes: [{ name: 'usage_resets_tenant', properties: ['tenantId', 'fromDay'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    fromDay: column.string(10),
  },
});

/** Days from the first to the last, both included, `YYYY-MM-DD`. */
export interface DayRange {
  readonly firstDay: string;
  readonly lastDay: string;
}

const ROLLUP = 'days';
/** Resets that are processed together. */
const RESETS = 1_000;

/** The day up to which usage is added up; empty before the first. */
export async function findThroughDay(database: Pick<Database, 'system'>): Promise<string> {
  const row = await database.system().findOne(UsageRollupRow, { id: ROLLUP });
  return row?.throughDay ?? '';
}

export async function saveThroughDay(em: SqlEntityManager, throughDay: string): Promise<void> {
  const changed = await em.nativeUpdate(UsageRollupRow, { id: ROLLUP }, { throughDay });
  if (changed === 0) await em.insert(UsageRollupRow, { id: ROLLUP, throughDay });
}

/** From which day on tenants are to be added up again; tenants that are missing in the result have no such day. */
export async function findResetDays(
  database: Pick<Database, 'system'>,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ tenant_id: string; from_day: string }>`
    select tenant_id, min(from_day) as from_day from usage_resets group by tenant_id`.execute(
    database.system().getKysely() as Kysely<unknown>,
  );
  return new Map(rows.map((row) => [row.tenant_id, row.from_day]));
}

/** The same of one tenant. */
export async function findResetDay(entities: TenantEntityManager): Promise<string | undefined> {
  const query = { fields: ['fromDay'], orderBy: { fromDay: 'asc' }, limit: 1 } as const;
  const [reset] = await entities.rows(UsageResetRow, {}, query);
  return reset?.fromDay;
}

/** Resets of a tenant, the earliest days first. */
export async function findResets(entities: TenantEntityManager): Promise<readonly string[]> {
  const query = { fields: ['id'], orderBy: { fromDay: 'asc' }, limit: RESETS } as const;
  const resets = await entities.rows(UsageResetRow, {}, query);
  return resets.map(({ id }) => id);
}

/** Makes reports read the tenant's records from this day on, in the caller's transaction. */
export function resetUsage(entities: TenantEntityManager, id: string, fromDay: string): Promise<void> {
  return entities.insert(UsageResetRow, { id, fromDay });
}

/** The usage of a tenant on whole days, one row each. */
export async function readDays(
  entities: TenantEntityManager,
  { firstDay, lastDay }: DayRange,
): Promise<(UsageSums & { readonly day: string })[]> {
  const where = { day: { $gte: firstDay, $lte: lastDay } };
  const sum = [...SUMMED, 'requests'] as const;
  const days = await entities.aggregate(UsageDayRow, { where, by: ['day'], sum });
  return days.map(({ requests, ...rest }) => ({ ...rest, count: requests }));
}

/** The same across tenants, by day or by tenant. */
export function readDaysAcrossTenants<By extends 'day' | 'tenantId'>(
  database: Pick<Database, 'system'>,
  by: By,
  tenantId: OfTenants,
  { firstDay, lastDay }: DayRange,
): Promise<Grouped<By, keyof UsageSums>[]> {
  const where = { day: { $gte: firstDay, $lte: lastDay }, tenantId };
  return grouped(database.system(), UsageDayRow, {
    by,
    sum: SUMMED,
    also: { count: 'sum(requests)' },
    where,
  });
}

/** How many different sessions had a call on whole days, by tenant. */
export function readSessions(
  database: Pick<Database, 'system'>,
  tenantIds: readonly string[],
  { firstDay, lastDay }: DayRange,
): Promise<Grouped<'tenantId', 'sessions'>[]> {
  const where = {
    day: { $gte: firstDay, $lte: lastDay },
    lastDay: { $lt: firstDay },
    tenantId: { $in: [...tenantIds] },
  };
  return grouped(database.system(), UsageDaySessionsRow, { by: 'tenantId', sum: ['sessions'], where });
}

/** The first day after this one on which there are records, of any tenant; undefined after the last. */
export async function dayAfter(database: Pick<Database, 'system'>, day: string): Promise<string | undefined> {
  const query = { fields: ['day'], orderBy: { day: 'asc' }, limit: 1, disableIdentityMap: true } as const;
  const [next] = await database.system().find(UsageRecordRow, { day: { $gt: day } }, query);
  return next?.day;
}

/**
 * The first day after this one, and not after `lastDay`, on which the tenant has records or sums; undefined after the
 * last.
 */
export async function dayOfTenantAfter(
  entities: TenantEntityManager,
  day: string,
  lastDay: string,
): Promise<string | undefined> {
  const where = { day: { $gt: day, $lte: lastDay } };
  const query = { fields: ['day'], orderBy: { day: 'asc' }, limit: 1 } as const;
  const found = [
    ...(await entities.rows(UsageRecordRow, where, query)),
    ...(await entities.rows(UsageDayRow, where, query)),
  ];
  return found.map((row) => row.day).sort()[0];
}

/**
 * Adds up a day of all tenants or of one, replacing earlier sums, in the transaction of `em`. An erasure at the same
 * time leaves a reset behind.
 */
export async function addUpDay(em: SqlEntityManager, day: string, tenantId?: string): Promise<void> {
  const queries = em.getKysely() as Kysely<unknown>;
  const isOfDay = tenantId === undefined ? sql`day = ${day}` : sql`day = ${day} and tenant_id = ${tenantId}`;
  await sql`delete from usage_days where ${isOfDay}`.execute(queries);
  await sql`delete from usage_day_sessions where ${isOfDay}`.execute(queries);
  await sql`insert into usage_days (tenant_id, day, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
      estimated, cost_micros, cost_picos, requests)
    select tenant_id, day, sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens),
      sum(estimated), sum(cost_micros), sum(cost_picos), count(*)
    from usage_records where ${isOfDay} group by tenant_id, day`.execute(queries);
  await sql`insert into usage_day_sessions (tenant_id, day, last_day, sessions)
    select tenant_id, day, last_day, count(*) from (
      select tenant_id, day, coalesce((
        select other.day from usage_records as other where other.tenant_id = active.tenant_id
          and other.session_id = active.session_id and other.created_at < active.first_at
          order by other.created_at desc limit 1), '') as last_day
      from (
        select tenant_id, day, session_id, min(created_at) as first_at from usage_records
        where ${isOfDay} and session_id is not null group by tenant_id, day, session_id) as active) as seen
    group by tenant_id, day, last_day`.execute(queries);
}

/**
 * Moves these resets of a tenant to a day, because all days before it are added up again. Without a day: deletes them,
 * since all are.
 */
export async function moveResets(
  em: SqlEntityManager,
  ids: readonly string[],
  fromDay: string | undefined,
): Promise<void> {
  const where = { id: { $in: [...ids] } };
  if (fromDay === undefined) await em.nativeDelete(UsageResetRow, where);
  else await em.nativeUpdate(UsageResetRow, where, { fromDay });
}

/** The days of a range, by tenant, that have more or fewer records than were added up. */
export async function findWrongDays(
  database: Pick<Database, 'system'>,
  { firstDay, lastDay }: DayRange,
): Promise<readonly { readonly tenantId: string; readonly day: string }[]> {
  const { rows } = await sql<{ tenant_id: string; day: string }>`
    select tenant_id, day from (
      select tenant_id, day, count(*) as found, 0 as added from usage_records
        where day between ${firstDay} and ${lastDay} group by tenant_id, day
      union all
      select tenant_id, day, 0, requests from usage_days where day between ${firstDay} and ${lastDay}) as both_counts
    group by tenant_id, day having sum(found) <> sum(added)`.execute(
    database.system().getKysely() as Kysely<unknown>,
  );
  return rows.map(({ tenant_id: tenantId, day }) => ({ tenantId, day }));
}
