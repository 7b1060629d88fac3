import {
  AnyId,
  Id,
  nullable,
  pageQuery,
  periodEnd,
  periodProblems,
  refusing,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import {
  USAGE_SOURCE,
  type UsagePeriod,
  type UsageRecord,
  type UsageRow,
  type UsageTotals,
} from '../../records/contract.ts';
import { type NamedTenantUsage, orderProblems, usagePeriod } from '../services/usage-administration.ts';
import { AuditLogQuery, toAuditFilter } from './audit-logs.ts';

const { from, to } = AuditLogQuery.properties;
const OutputTokens = Type.Integer({ examples: [128] });
const CacheTokens = Type.Integer({ examples: [0] });
const Cost = Type.Number({
  description: 'US dollars, to the last of up to twelve decimals',
  examples: [0.0724],
});
const Totals = {
  input_tokens: Type.Integer({ description: 'Cached ones included', examples: [6468] }),
  output_tokens: OutputTokens,
  total_tokens: Type.Integer({ description: 'Input and output', examples: [6596] }),
  cost_usd: Cost,
  requests: Type.Integer({ description: 'Model calls', examples: [6] }),
};
const Day = Type.Object({
  date: Type.String({ description: 'YYYY-MM-DD, or YYYY-MM for months; UTC', examples: ['2030-01-31'] }),
  ...Totals,
  cache_read_tokens: CacheTokens,
  cache_write_tokens: CacheTokens,
  estimated_requests: Type.Integer({
    description: 'Those whose tokens the provider did not count',
    examples: [0],
  }),
});

/** The query of a tenant's usage. */
export const UsageQuery = Type.Object({
  from,
  to,
  granularity: Type.Enum(['day', 'month'], { default: 'day' }),
});

/** The query of usage across tenants. */
export const AdminUsageQuery = Type.Object({
  from,
  to,
  granularity: Type.Enum(['daily', 'monthly'], { default: 'daily' }),
  tenant_id: Type.Optional(
    Type.String({ maxLength: 100, description: 'Default: all tenants for operators, your own for others' }),
  ),
});

/** The query of usage by tenant. */
export const TenantUsageQuery = Type.Object({ ...pageQuery({ defaultLimit: 50 }).properties, from, to });

/** The query of single model calls. */
export const UsageDetailsQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  session_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Needed where no `request_id` is given' }),
  ),
  request_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
});

const Period = Type.Object({
  from: Type.String({ ...Timestamp, examples: ['2030-01-01T00:00:00.000Z'] }),
  to: Timestamp,
});

/** Usage by date (decisions 1.8). */
export const UsageReport = Type.Object({
  tenant_id: Id,
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
  id: Id,
  model: Type.String({ description: 'The alias that was asked', examples: ['default'] }),
  provider: Type.String({ examples: ['openai'] }),
  provider_model: Type.String({ examples: ['gpt-4o-mini'] }),
  source: Type.String({
    pattern: USAGE_SOURCE,
    description:
      'Which part of the gateway asked: `chat`, `agent`, `workflow`, `runtime`, or the name of a plugin',
    examples: ['agent'],
  }),
  input_tokens: Totals.input_tokens,
  output_tokens: OutputTokens,
  cache_read_tokens: CacheTokens,
  cache_write_tokens: CacheTokens,
  estimated: Type.Boolean({ description: 'True where the provider did not count', examples: [false] }),
  cost_usd: Cost,
  created_at: Timestamp,
  request_id: nullable(
    Type.String({
      ...AnyId,
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
  tenant_id: Id,
  name: Type.String({ examples: ['Acme'] }),
  sessions: Type.Integer({ description: 'Sessions with a model call in the period', examples: [4] }),
  ...Totals,
});

/** The period in a query. Throws 400 naming the ends that are no moments, or are in the wrong order. */
export function toUsagePeriod(
  query: { readonly from?: string; readonly to?: string },
  now: number,
): UsagePeriod {
  return usagePeriod(toAuditFilter(query), now);
}

/** Tells of a bad period together with what else is wrong with a query. */
export const refuseUsagePeriod = refusing((_, query) => [
  ...periodProblems(query),
  ...orderProblems({ from: periodEnd(query, 'from'), to: periodEnd(query, 'to') }),
]);

/** A period on the wire. */
export const toPeriod = toWire(Period);

const writeDay = toWire(Day);
const writeDetail = toWire(UsageDetail);
const writeTenant = toWire(TenantUsage);

/** A line of a report on the wire. */
export const toUsageLine = (row: UsageRow) => writeDay(totalled(row));

/** A model call on the wire. */
export const toUsageDetail = (record: UsageRecord) =>
  writeDetail({ ...record, estimated: record.isEstimated, costUsd: exactNumber(record.costUsd) });

/** The usage of a tenant on the wire. */
export const toTenantUsage = (usage: NamedTenantUsage) => writeTenant(totalled(usage));

function totalled<U extends UsageTotals>(usage: U) {
  return {
    ...usage,
    totalTokens: usage.inputTokens + usage.outputTokens,
    costUsd: exactNumber(usage.costUsd),
  };
}

/**
 * Decimal text as a JSON number with all of its digits: a client that parses decimals gets the exact sum, one that
 * parses binary numbers the nearest value. Only for answers: in this process the result is not a number.
 */
function exactNumber(decimal: string): number {
  return RawJson.rawJSON(decimal) as number;
}

/** TypeScript does not know it yet. */
const RawJson = JSON as unknown as { rawJSON(text: string): unknown };
