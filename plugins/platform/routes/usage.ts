import {
  AnyId,
  access,
  type Clock,
  type FieldError,
  Id,
  listOf,
  nullable,
  pageOf,
  type Route,
  refusing,
  requireSound,
  route,
  Type,
  type UnreadBody,
} from 'agent-gateway';
import { isTenantAdmin, type UsageReports } from '../../records/contract.ts';
import type { UsageAdministration } from '../services/usage-administration.ts';
import {
  AdminUsageQuery,
  AdminUsageReport,
  refuseUsagePeriod,
  TenantUsage,
  TenantUsageQuery,
  toPeriod,
  toTenantUsage,
  toUsageDetail,
  toUsageLine,
  toUsagePeriod,
  UsageDetail,
  UsageDetailsQuery,
  UsageQuery,
  UsageReport,
} from './usage-schemas.ts';

const common = { method: 'GET', access: access.role('user'), tag: 'usage' } as const;
const UsageDetails = Type.Object({
  tenant_id: Id,
  session_id: nullable(
    Type.String({ ...AnyId, description: 'As it was asked for; null: by the request alone' }),
  ),
  ...listOf('records', UsageDetail).properties,
});

/** The usage of the caller's tenant (specification 1, Identity and usage; decisions 1.8). */
export function usageRoutes(reports: UsageReports, clock: Clock): readonly Route[] {
  return [
    route({
      ...common,
      path: '/v1/usage',
      summary:
        'Tokens and costs of your tenant by day or month, oldest first; by default of the last 30 days',
      schema: { query: UsageQuery, responses: { 200: UsageReport } },
      refuse: refuseUsagePeriod,
      handle: async (call) => {
        const { granularity } = call.query;
        const period = toUsagePeriod(call.query, clock.now());
        const rows = await reports.ofTenant(call.entities(), period, granularity);
        const data = rows.map(toUsageLine);
        return { tenant_id: call.tenant.id, granularity, period: toPeriod(period), data };
      },
    }),
    route({
      ...common,
      path: '/v1/usage/details',
      summary:
        'The model calls of a session or a request, newest first; of your own sessions, or as an administrator of all',
      schema: { query: UsageDetailsQuery, responses: { 200: UsageDetails } },
      refuse: refusing((_, query) => detailProblems(query)),
      handle: async (call) => {
        const { session_id, request_id } = call.query;
        requireSound(detailProblems(call.query));
        const page = pageOf(call.query);
        // A session belongs to an identity and its `X-Svc-User-Id`; administrators of the tenant see all.
        const identityId = isTenantAdmin(call.identity) ? undefined : call.identity.id;
        const reader = { userId: call.userId, identityId };
        const { records, total } = await reports.calls(
          call.entities(),
          { sessionId: session_id, requestId: request_id },
          reader,
          page,
        );
        const asked = { tenant_id: call.tenant.id, session_id: session_id ?? null };
        return { ...asked, records: records.map(toUsageDetail), total, ...page };
      },
    }),
  ];
}

/** What no schema says of a query for single calls: which ones it wants. */
function detailProblems({ session_id, request_id }: UnreadBody): readonly FieldError[] {
  if (session_id !== undefined || request_id !== undefined) return [];
  return [{ pointer: '/query/session_id', message: 'or request_id is required' }];
}

const GRANULARITIES = { daily: 'day', monthly: 'month' } as const;
const governed = {
  method: 'GET',
  access: access.governance(['billing:read', 'usage:read']),
  tag: 'usage',
} as const;
const TenantUsages = Type.Object({
  period: AdminUsageReport.properties.period,
  ...listOf('tenants', TenantUsage).properties,
});

/** Usage across tenants (specification 1, Admin governance routes; decisions 1.8). */
export function adminUsageRoutes(usage: UsageAdministration, clock: Clock): readonly Route[] {
  return [
    route({
      ...governed,
      path: '/admin/v1/usage',
      summary: 'Tokens and costs by date: of all tenants or one for operators, of your own for others',
      schema: { query: AdminUsageQuery, responses: { 200: AdminUsageReport } },
      refuse: refuseUsagePeriod,
      handle: async ({ identity, query }) => {
        const { granularity } = query;
        const period = toUsagePeriod(query, clock.now());
        const found = await usage.byDate(identity, query.tenant_id, period, GRANULARITIES[granularity]);
        const data = found.rows.map(toUsageLine);
        return { tenant_id: found.tenantId, granularity, period: toPeriod(period), data };
      },
    }),
    route({
      ...governed,
      path: '/admin/v1/usage/tenants',
      summary: 'Tokens and costs by tenant: of all tenants for operators, of your own for others',
      schema: { query: TenantUsageQuery, responses: { 200: TenantUsages } },
      refuse: refuseUsagePeriod,
      handle: async ({ identity, query }) => {
        const page = pageOf(query);
        const period = toUsagePeriod(query, clock.now());
        const { tenants, total } = await usage.byTenant(identity, period, page);
        return { period: toPeriod(period), tenants: tenants.map(toTenantUsage), total, ...page };
      },
    }),
  ];
}
