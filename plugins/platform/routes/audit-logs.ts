import { AUDIT_MAX_LIMIT, access, pageOf, type Route, route } from 'agent-gateway';
import type { AuditSearch } from '../services/audit-search.ts';
import {
  AuditLog,
  AuditLogQuery,
  TenantAuditLogQuery,
  toAuditFilter,
  toAuditLog,
} from './schemas/audit-log.ts';
import { listOf } from './schemas/common.ts';

const responses = { 200: listOf('audit_logs', AuditLog) };

/** The audit log of a tenant, and of all (specification 1, Audit logs; decisions 1.4). */
export function auditLogRoutes(search: AuditSearch): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/audit-logs',
      // An auditor's key that lists `audit` alone has no `read`.
      access: access.role(['auditor', 'admin', 'owner', 'tenant'], { scopes: ['read', 'audit:read'] }),
      summary: 'Search the audit log of your tenant, newest first',
      tag: 'audit-logs',
      schema: { query: AuditLogQuery, responses },
      handle: async ({ identity, query }) => {
        const page = pageOf(query, AUDIT_MAX_LIMIT);
        const { records, total } = await search.own(identity, toAuditFilter(query), page);
        return { audit_logs: records.map(toAuditLog), total, ...page };
      },
    }),
    route({
      method: 'GET',
      path: '/admin/v1/audit-logs',
      access: access.governance(['audit:read', 'security:read']),
      summary: 'Search the audit log: of all tenants for operators, of your own for others',
      tag: 'audit-logs',
      schema: { query: TenantAuditLogQuery, responses },
      handle: async ({ identity, query }) => {
        const page = pageOf(query, AUDIT_MAX_LIMIT);
        const filter = toAuditFilter(query);
        const { records, total } = await search.acrossTenants(identity, query.tenant_id, filter, page);
        return { audit_logs: records.map(toAuditLog), total, ...page };
      },
    }),
  ];
}
