import {
  AnyId,
  AUDIT_DEFAULT_LIMIT,
  AUDIT_MAX_LIMIT,
  type AuditEntry,
  type AuditQuery,
  access,
  EGRESS_DENIED,
  fromWire,
  Id,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  reply,
  route,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { EgressAdministration } from '../services/egress-administration.ts';
import { refusePeriod, searchAudit, TenantAuditLogQuery, toAuditFilter } from './audit-logs.ts';
import { done } from './common.ts';

const TenantId = Type.Optional(
  Type.String({ maxLength: 100, description: 'Default: your own tenant; others for operators' }),
);
const Action = Type.Enum(['allow', 'deny'], { examples: ['deny'] });

/**
 * The body that makes a rule (decisions 1.12). The kernel parses, and may refuse, hosts and paths. Unknown members are
 * refused: a misspelt `path_prefix` would allow the whole host.
 */
const CreateEgressRule = Type.Object(
  {
    host_pattern: Type.String({
      maxLength: 300,
      description: 'A host, *.example.com (its subdomains) or *, with an optional :port',
      examples: ['ads.example.com'],
    }),
    path_prefix: Type.Optional(
      Type.String({
        maxLength: 1024,
        default: '/',
        description: 'Whole segments: /v1 is /v1 and /v1/x; absent: the whole host',
      }),
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
  },
  { additionalProperties: false },
);

/** The query of a list of rules. */
const EgressRuleQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  tenant_id: TenantId,
});

/** A rule as clients see it. */
const EgressRuleSchema = Type.Object({
  id: Id,
  tenant_id: Id,
  host_pattern: Type.String({ examples: ['ads.example.com'] }),
  path_prefix: Type.String({ examples: ['/'] }),
  action: Action,
  priority: Type.Integer({ examples: [0] }),
  created_at: Timestamp,
});

/** The query of denied requests. */
const BlockedLogQuery = Type.Object({
  ...pageQuery({ defaultLimit: AUDIT_DEFAULT_LIMIT }).properties,
  from: TenantAuditLogQuery.properties.from,
  to: TenantAuditLogQuery.properties.to,
  tenant_id: TenantAuditLogQuery.properties.tenant_id,
});

/** A denied request as clients see it (decisions 1.12). */
const BlockedEvent = Type.Object({
  id: Id,
  tenant_id: Id,
  host: Type.String({ examples: ['intranet.example.com'] }),
  port: Type.Integer({ examples: [443] }),
  reason: Type.String({
    description: 'rule, default, port, name, or the class of the address',
    examples: ['rule'],
  }),
  user_id: AnyId,
  request_id: Type.String({
    description: 'Of an agent task or a service task of a workflow the key of its attempt',
    examples: ['01a209b6-2f48-73e9-9b64-2d1a261ac3f4-1'],
  }),
  created_at: Timestamp,
});

const toWantedRule = fromWire(CreateEgressRule);
const toEgressRule = toWire(EgressRuleSchema);
const writeBlocked = toWire(BlockedEvent);

/** The record of a denied request on the wire. Its details are stored JSON, whose form is not guaranteed. */
function toBlockedEvent(entry: AuditEntry): Static<typeof BlockedEvent> {
  const { host, port, reason } = entry.detail;
  return writeBlocked({
    ...entry,
    host: typeof host === 'string' ? host : '',
    port: typeof port === 'number' ? port : 0,
    reason: typeof reason === 'string' ? reason : '',
  });
}

const PATH = '/admin/v1/egress/rules';
/** Asks for `security:read` or `security:write`, by the method. */
const common = { access: access.governance(['security:*']), tag: 'egress' } as const;

/** The rules about outbound requests (decisions 1.12). A rule is not changed: it is deleted, and another one made. */
export function egressRuleRoutes(rules: EgressAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List egress rules: of all tenants for operators, of your own for others',
      schema: { query: EgressRuleQuery, responses: { 200: listOf('rules', EgressRuleSchema) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query);
        const { records, total } = await rules.list(identity, query.tenant_id, page);
        return { rules: records.map(toEgressRule), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      failures: ['not-found'],
      summary: 'Allow or deny outbound requests of a tenant by host and path',
      schema: { body: CreateEgressRule, responses: { 201: EgressRuleSchema } },
      refuse: refusing(rules.problems),
      handle: async (call) => {
        const rule = toEgressRule(await rules.create(call.identity, toWantedRule(call.body)));
        const { id, created_at: _, ...said } = rule;
        call.audit({ changes: { rule_id: id, ...said } });
        return reply.created(rule);
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete an egress rule',
      schema: { params: IdParams, responses: { 204: null } },
      handle: ({ identity, params }) => done(rules.remove(identity, params.id)),
    }),
  ];
}

/**
 * The outbound requests that were denied, from the audit log (specification 1, Admin governance routes; decisions
 * 1.12).
 */
export function egressLogRoute(audit: AuditQuery): Route {
  return route({
    method: 'GET',
    path: '/admin/v1/egress/blocked-log',
    access: access.governance(['audit:read', 'security:read']),
    summary:
      'List denied outbound requests, newest first: of all tenants for operators, of your own for others',
    tag: 'egress',
    schema: { query: BlockedLogQuery, responses: { 200: listOf('blocked_events', BlockedEvent) } },
    refuse: refusePeriod,
    handle: async ({ identity, query }) => {
      const page = pageOf(query, AUDIT_MAX_LIMIT);
      // By their names: what the schema does not declare, such as `q`, is unchecked, and means nothing here.
      const { from, to, tenant_id } = query;
      const filter = toAuditFilter({ from, to, action: EGRESS_DENIED });
      const { records, total } = await searchAudit(audit, identity, tenant_id, filter, page);
      return { blocked_events: records.map(toBlockedEvent), total, ...page };
    },
  });
}
