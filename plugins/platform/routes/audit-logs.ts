import {
  AUDIT_DEFAULT_LIMIT,
  AUDIT_MAX_LIMIT,
  type AuditEntry,
  type AuditFilter,
  access,
  type FieldError,
  KernelErrors,
  pageOf,
  pageQuery,
  parseAuditTime,
  type Route,
  route,
  Type,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { AuditSearch } from '../services/audit-search.ts';
import { listOf, nullable, Timestamp, toTimestamp } from './common.ts';

// No database keeps NUL in text, and some refuse to look for it.
const SearchText = Type.String({
  maxLength: 2100,
  pattern: '^[^\\u0000]*$',
  patternErrorMessage: 'must not hold the character U+0000',
});
const Moment = Type.String({
  maxLength: 40,
  description: 'RFC 3339, or a date (UTC), which as `to` includes that day',
});

/** What audit records are asked for by. */
export const AuditLogQuery = Type.Object({
  ...pageQuery({ defaultLimit: AUDIT_DEFAULT_LIMIT }).properties,
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
  id: Type.String(),
  tenant_id: Type.String(),
  user_id: Type.String(),
  action: Type.String({ description: 'METHOD /path' }),
  detail: Type.Record(Type.String(), Type.Unknown(), { description: 'Query, and names of body fields' }),
  request_id: Type.String(),
  status_code: Type.Integer(),
  latency_ms: Type.Integer(),
  created_at: Timestamp,
  session_id: nullable(Type.String()),
  source_ip: nullable(Type.String()),
  user_agent: nullable(Type.String()),
  error_code: nullable(Type.String()),
  auth_method: nullable(Type.String()),
});

/** The filter in a query. Throws 400 naming every end of the period that is no moment. */
export function toAuditFilter(query: Static<typeof AuditLogQuery>): AuditFilter {
  const errors: FieldError[] = [];
  const moment = (bound: 'from' | 'to') => {
    const text = query[bound];
    if (text === undefined) return undefined;
    const parsed = parseAuditTime(withPlus(text), bound);
    if (parsed === undefined) {
      errors.push({ pointer: `/query/${bound}`, message: 'must be an RFC 3339 timestamp or a date' });
    }
    return parsed;
  };
  const filter = { action: query.action, from: moment('from'), to: moment('to') };
  if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
  return filter;
}

/** A record on the wire. */
function toAuditLog(entry: AuditEntry): Static<typeof AuditLog> {
  return {
    id: entry.id,
    tenant_id: entry.tenantId,
    user_id: entry.userId,
    action: entry.action,
    detail: entry.detail,
    request_id: entry.requestId,
    status_code: entry.statusCode,
    latency_ms: entry.latencyMs,
    created_at: toTimestamp(entry.createdAt),
    session_id: entry.sessionId ?? null,
    source_ip: entry.sourceIp ?? null,
    user_agent: entry.userAgent ?? null,
    error_code: entry.errorCode ?? null,
    auth_method: entry.authMethod ?? null,
  };
}

/** The `+` of an offset that the client did not percent-encode arrives as a blank. */
function withPlus(text: string): string {
  return text.replace(/ (?=\d{2}:\d{2}$)/, '+');
}

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
