import {
  AnyId,
  AUDIT_DEFAULT_LIMIT,
  AUDIT_MAX_LIMIT,
  type AuditEntry,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  access,
  Id,
  type Identity,
  listOf,
  narrowedTo,
  nullable,
  type Page,
  pageOf,
  pageQuery,
  periodEnd,
  periodProblems,
  type Route,
  refusing,
  requireSound,
  route,
  searchQuery,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import type { Static } from 'typebox';

const SearchText = Type.String({
  maxLength: 2100,
});
const Moment = Type.String({
  maxLength: 40,
  description: 'RFC 3339, or a date (UTC), which as `to` includes that day',
});

/** The query of audit records. */
export const AuditLogQuery = Type.Object({
  ...pageQuery({ defaultLimit: AUDIT_DEFAULT_LIMIT }).properties,
  ...searchQuery('action', 'user_id', 'request_id', 'session_id', 'error_code'),
  action: Type.Optional(SearchText),
  from: Type.Optional(Moment),
  to: Type.Optional(Moment),
});

/** The same, over all tenants. */
export const TenantAuditLogQuery = Type.Object({
  ...AuditLogQuery.properties,
  tenant_id: Type.Optional(Type.String({ maxLength: 100 })),
});

/** An audit record as clients see it (specification 1, Audit log record; decisions 1.4). */
const AuditLog = Type.Object({
  id: Id,
  tenant_id: AnyId,
  user_id: AnyId,
  action: Type.String({ description: 'METHOD /path', examples: ['POST /v1/tenants'] }),
  detail: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Query, and names of body fields',
    examples: [{ body_fields: ['name'] }],
  }),
  request_id: AnyId,
  status_code: Type.Integer({ examples: [201] }),
  latency_ms: Type.Integer({ examples: [6] }),
  created_at: Timestamp,
  session_id: nullable(AnyId),
  source_ip: nullable(Type.String({ examples: ['203.0.113.7'] })),
  user_agent: nullable(Type.String({ examples: ['curl/8.14.1'] })),
  error_code: nullable(Type.String()),
  auth_method: nullable(Type.String({ examples: ['api_key'] })),
});

/** The filter in a query. Throws 400 naming every end of the period that is no moment. */
export function toAuditFilter(query: Omit<Static<typeof AuditLogQuery>, keyof Page>): AuditFilter {
  requireSound(periodProblems(query));
  const { q, action } = query;
  return { q, action, from: periodEnd(query, 'from'), to: periodEnd(query, 'to') };
}

/** Tells of a bad period together with what else is wrong with a query. */
export const refusePeriod = refusing((_, query) => periodProblems(query));

const written = toWire(AuditLog);
const ABSENT = { sessionId: null, sourceIp: null, userAgent: null, errorCode: null, authMethod: null };

/** A record on the wire. */
function toAuditLog(entry: AuditEntry): Static<typeof AuditLog> {
  return written({ ...ABSENT, ...entry });
}

/**
 * Records of the tenants that the caller reaches: for operators those of all tenants, including failed authentications
 * that name no tenant; for other callers those of their own. `tenantId` narrows to one tenant; for a tenant out of
 * reach the result is empty.
 */
export async function searchAudit(
  audit: AuditQuery,
  identity: Identity,
  tenantId: string | undefined,
  filter: AuditFilter,
  page: Page,
): Promise<AuditPage> {
  const only = narrowedTo(identity, tenantId);
  if (only === null) return { records: [], total: 0 };
  return only === undefined ? audit.ofAll(filter, page) : audit.ofTenant(only, filter, page);
}

const responses = { 200: listOf('audit_logs', AuditLog) };

/** The audit log of a tenant, and of all (specification 1, Audit logs; decisions 1.4). */
export function auditLogRoutes(audit: AuditQuery): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/audit-logs',
      // An auditor's key that lists `audit` alone has no `read`.
      access: access.role(['auditor', 'admin', 'owner', 'tenant'], { scopes: ['read', 'audit:read'] }),
      summary: 'Search the audit log of your tenant, newest first',
      tag: 'audit-logs',
      schema: { query: AuditLogQuery, responses },
      refuse: refusePeriod,
      handle: async ({ identity, query }) => {
        const page = pageOf(query, AUDIT_MAX_LIMIT);
        const { records, total } = await audit.ofTenant(identity.tenantId, toAuditFilter(query), page);
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
      refuse: refusePeriod,
      handle: async ({ identity, query }) => {
        const page = pageOf(query, AUDIT_MAX_LIMIT);
        const filter = toAuditFilter(query);
        const { records, total } = await searchAudit(audit, identity, query.tenant_id, filter, page);
        return { audit_logs: records.map(toAuditLog), total, ...page };
      },
    }),
  ];
}
