import {
  AUDIT_DEFAULT_LIMIT,
  type AuditEntry,
  type AuditFilter,
  type FieldError,
  KernelErrors,
  pageQuery,
  parseAuditTime,
} from 'agent-gateway';
import Type, { type Static } from 'typebox';
import { nullable, Timestamp, toTimestamp } from './common.ts';

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

/** An audit record as it is told (specification 1, Audit log record; decisions 1.4). */
export const AuditLog = Type.Object({
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
export function toAuditLog(entry: AuditEntry): Static<typeof AuditLog> {
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
