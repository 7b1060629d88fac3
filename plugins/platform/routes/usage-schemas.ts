import { pageQuery, Timestamp, Type, toWire } from 'agent-gateway';
import type { UsagePeriod, UsageRecord, UsageRow, UsageTotals } from '../../records/contract.ts';
import { type NamedTenantUsage, usagePeriod } from '../services/usage-administration.ts';
import { AuditLogQuery, toAuditFilter } from './audit-logs.ts';
import { nullable } from './common.ts';

const { from, to } = AuditLogQuery.properties;
const Tokens = Type.Integer();
const Cost = Type.Number({ description: 'US dollars' });
const Totals = {
  input_tokens: Type.Integer({ description: 'Cached ones included' }),
  output_tokens: Tokens,
  total_tokens: Type.Integer({ description: 'Input and output' }),
  cost_usd: Cost,
  requests: Type.Integer({ description: 'Model calls' }),
};
const Day = Type.Object({
  date: Type.String({ description: 'YYYY-MM-DD, or YYYY-MM for months; UTC' }),
  ...Totals,
  cache_read_tokens: Tokens,
  cache_write_tokens: Tokens,
  estimated_requests: Type.Integer({ description: 'Those whose tokens the provider did not count' }),
});

/** What the tenant's usage is asked for by. */
export const UsageQuery = Type.Object({
  from,
  to,
  granularity: Type.Enum(['day', 'month'], { default: 'day' }),
});

/** What usage is asked for by, across tenants. */
export const AdminUsageQuery = Type.Object({
  from,
  to,
  granularity: Type.Enum(['daily', 'monthly'], { default: 'daily' }),
  tenant_id: Type.Optional(
    Type.String({ maxLength: 100, description: 'Default: all tenants for operators, your own for others' }),
  ),
});

/** What usage by tenant is asked for by. */
export const TenantUsageQuery = Type.Object({ ...pageQuery({ defaultLimit: 50 }).properties, from, to });

/** Whose calls are asked for. */
export const UsageDetailsQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  session_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Needed where no `request_id` is given' }),
  ),
  request_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
});

const Period = Type.Object({ from: Timestamp, to: Timestamp });

/** Usage by date (decisions 1.8). */
export const UsageReport = Type.Object({
  tenant_id: Type.String(),
  granularity: UsageQuery.properties.granularity,
  period: Period,
  data: Type.Array(Day),
});

/** The same, of one tenant or of all. */
export const AdminUsageReport = Type.Object({
  ...UsageReport.properties,
  tenant_id: nullable(Type.String({ description: 'Null: all tenants together' })),
  granularity: AdminUsageQuery.properties.granularity,
});

/** One model call. */
export const UsageDetail = Type.Object({
  id: Type.String(),
  model: Type.String({ description: 'The alias that was asked' }),
  provider: Type.String(),
  provider_model: Type.String(),
  source: Type.Enum(['chat', 'agent', 'workflow', 'runtime']),
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_read_tokens: Tokens,
  cache_write_tokens: Tokens,
  estimated: Type.Boolean({ description: 'True where the provider did not count' }),
  cost_usd: Cost,
  created_at: Timestamp,
  request_id: nullable(
    Type.String({
      description:
        'Of an agent task of a workflow the key of its attempt. Null in old records, like what follows',
    }),
  ),
  trace_id: nullable(Type.String()),
  started_at: nullable(Timestamp),
  duration_ms: nullable(Type.Integer()),
  status: nullable(
    Type.String({ enum: ['success', 'error', 'timeout', null], description: 'Failed calls are not metered' }),
  ),
});

/** The usage of one tenant. */
export const TenantUsage = Type.Object({
  tenant_id: Type.String(),
  name: Type.String(),
  sessions: Type.Integer({ description: 'Sessions with a model call in the period' }),
  ...Totals,
});

/** The period in a query. Throws 400 naming the ends that are no moments, or lie the wrong way round. */
export function toUsagePeriod(
  query: { readonly from?: string; readonly to?: string },
  now: number,
): UsagePeriod {
  return usagePeriod(toAuditFilter({ ...query, limit: 0, offset: 0 }), now);
}

/** A period on the wire. */
export const toPeriod = toWire(Period);

const writeDay = toWire(Day);
const writeDetail = toWire(UsageDetail);
const writeTenant = toWire(TenantUsage);

/** A line of a report on the wire. */
export const toUsageLine = (row: UsageRow) => writeDay(totalled(row));

/** A model call on the wire. */
export const toUsageDetail = (record: UsageRecord) =>
  writeDetail({ ...record, estimated: record.isEstimated, costUsd: Number(record.costUsd) });

/** The usage of a tenant on the wire. */
export const toTenantUsage = (usage: NamedTenantUsage) => writeTenant(totalled(usage));

function totalled<U extends UsageTotals>(usage: U) {
  return {
    ...usage,
    totalTokens: usage.inputTokens + usage.outputTokens,
    // The number that is nearest to the exact sum: it prints as the same decimal, up to 15 digits.
    costUsd: Number(usage.costUsd),
  };
}
