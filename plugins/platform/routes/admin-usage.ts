import { access, type Clock, pageOf, type Route, route } from 'agent-gateway';
import Type from 'typebox';
import type { UsageAdministration } from '../services/usage-administration.ts';
import { listOf } from './schemas/common.ts';
import {
  AdminUsageQuery,
  AdminUsageReport,
  TenantUsage,
  TenantUsageQuery,
  toPeriod,
  toTenantUsage,
  toUsageLine,
  toUsagePeriod,
} from './schemas/usage.ts';

const MAX_PAGE = 500;
const GRANULARITIES = { daily: 'day', monthly: 'month' } as const;
const common = {
  method: 'GET',
  access: access.governance(['billing:read', 'usage:read']),
  tag: 'usage',
} as const;
const TenantUsages = Type.Object({
  period: AdminUsageReport.properties.period,
  ...listOf('tenants', TenantUsage).properties,
});

/** Usage across tenants (specification 1, Admin governance routes; decisions 1.8). */
export function adminUsageRoutes({
  usage,
  clock,
}: {
  readonly usage: UsageAdministration;
  readonly clock: Clock;
}): readonly Route[] {
  return [
    route({
      ...common,
      path: '/admin/v1/usage',
      summary: 'Tokens and costs by date: of all tenants or one for operators, of your own for others',
      schema: { query: AdminUsageQuery, responses: { 200: AdminUsageReport } },
      handle: async ({ identity, query }) => {
        const { granularity } = query;
        const period = toUsagePeriod(query, clock.now());
        const found = await usage.byDate(identity, query.tenant_id, period, GRANULARITIES[granularity]);
        const data = found.rows.map(toUsageLine);
        return { tenant_id: found.tenantId, granularity, period: toPeriod(period), data };
      },
    }),
    route({
      ...common,
      path: '/admin/v1/usage/tenants',
      summary: 'Tokens and costs by tenant: of all tenants for operators, of your own for others',
      schema: { query: TenantUsageQuery, responses: { 200: TenantUsages } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query, MAX_PAGE);
        const period = toUsagePeriod(query, clock.now());
        const { tenants, total } = await usage.byTenant(identity, period, page);
        return { period: toPeriod(period), tenants: tenants.map(toTenantUsage), total, ...page };
      },
    }),
  ];
}
