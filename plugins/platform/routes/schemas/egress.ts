import {
  AUDIT_DEFAULT_LIMIT,
  type AuditEntry,
  type AuditFilter,
  EGRESS_DENIED,
  type EgressRule,
  pageQuery,
} from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { WantedEgressRule } from '../../services/egress-administration.ts';
import { TenantAuditLogQuery, toAuditFilter } from './audit-log.ts';
import { Timestamp, toTimestamp } from './common.ts';

const TenantId = Type.Optional(
  Type.String({ maxLength: 100, description: 'Default: your own tenant; others for operators' }),
);
const Action = Type.Enum(['allow', 'deny']);

/** The body that makes a rule (decisions 1.12). Hosts and paths are read, and refused, by the kernel. */
export const CreateEgressRule = Type.Object({
  host_pattern: Type.String({
    maxLength: 300,
    description: 'A host, *.example.com (its subdomains) or *, with an optional :port',
  }),
  path_prefix: Type.Optional(
    Type.String({ maxLength: 1024, default: '/', description: 'Whole segments: /v1 is /v1 and /v1/x' }),
  ),
  action: Action,
  priority: Type.Optional(
    Type.Integer({
      minimum: -1_000_000,
      maximum: 1_000_000,
      default: 0,
      description: 'The highest decides; of equal ones a deny',
    }),
  ),
  tenant_id: TenantId,
});

/** Which rules are asked for. */
export const EgressRuleQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  tenant_id: TenantId,
});

/** A rule as it is told. */
export const EgressRuleSchema = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  host_pattern: Type.String(),
  path_prefix: Type.String(),
  action: Action,
  priority: Type.Integer(),
  created_at: Timestamp,
});

/** Which denied requests are asked for. */
export const BlockedLogQuery = Type.Object({
  ...pageQuery({ defaultLimit: AUDIT_DEFAULT_LIMIT }).properties,
  from: TenantAuditLogQuery.properties.from,
  to: TenantAuditLogQuery.properties.to,
  tenant_id: TenantAuditLogQuery.properties.tenant_id,
});

/** A denied request as it is told (decisions 1.12). */
export const BlockedEvent = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  reason: Type.String({ description: 'rule, default, port, name, or the class of the address' }),
  user_id: Type.String(),
  request_id: Type.String(),
  created_at: Timestamp,
});

/** What a body says about a new rule. */
export function toWantedRule(body: Static<typeof CreateEgressRule>): WantedEgressRule {
  return {
    hostPattern: body.host_pattern,
    pathPrefix: body.path_prefix,
    action: body.action,
    priority: body.priority,
    tenantId: body.tenant_id,
  };
}

/** A rule on the wire. */
export function toEgressRule(rule: EgressRule): Static<typeof EgressRuleSchema> {
  return {
    id: rule.id,
    tenant_id: rule.tenantId,
    host_pattern: rule.hostPattern,
    path_prefix: rule.pathPrefix,
    action: rule.action,
    priority: rule.priority,
    created_at: toTimestamp(rule.createdAt),
  };
}

/** The filter in a query: denied outbound requests alone. Throws 400 like `toAuditFilter`. */
export function toBlockedFilter({ from, to, limit, offset }: Static<typeof BlockedLogQuery>): AuditFilter {
  return toAuditFilter({ from, to, limit, offset, action: EGRESS_DENIED });
}

/** The record of a denied request on the wire. Its particulars are JSON that was stored, so that nothing is taken for granted. */
export function toBlockedEvent(entry: AuditEntry): Static<typeof BlockedEvent> {
  const { host, port, reason } = entry.detail;
  return {
    id: entry.id,
    tenant_id: entry.tenantId,
    host: typeof host === 'string' ? host : '',
    port: typeof port === 'number' ? port : 0,
    reason: typeof reason === 'string' ? reason : '',
    user_id: entry.userId,
    request_id: entry.requestId,
    created_at: toTimestamp(entry.createdAt),
  };
}
