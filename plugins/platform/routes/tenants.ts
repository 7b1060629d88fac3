import {
  access,
  fromWire,
  Id,
  IdParams,
  listOf,
  nullable,
  PLANS,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  TENANT_ADMINISTRATION,
  TENANT_DEFAULTS,
  type TenantRecord,
  Timestamp,
  Type,
  toWire,
  withExample,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { TenantAdministration } from '../services/tenant-administration.ts';
import { Name } from './common.ts';

/** Far above what one gateway can serve; the limit keeps the value inside the column's 32 bits. */
const MAX_LIMIT = 1_000_000;

const Plan = Type.Enum([...PLANS]);
const ChatContext = Type.Enum(['full', 'none'], {
  description:
    '`none`: its chat completions go to the model without personality, profile, memories and skills',
});
const Limit = Type.Integer({ minimum: 1, maximum: MAX_LIMIT });

/** The body that makes a tenant (decisions 1.1). */
const CreateTenant = Type.Object({
  name: Name,
  plan: Type.Optional({ ...Plan, default: TENANT_DEFAULTS.plan }),
  rate_limit_rpm: Type.Optional({ ...Limit, default: TENANT_DEFAULTS.rateLimitRpm }),
  max_sessions: Type.Optional({ ...Limit, default: TENANT_DEFAULTS.maxSessions }),
  chat_context: Type.Optional({ ...ChatContext, default: TENANT_DEFAULTS.chatContext }),
});

/** The body that changes a tenant: absent members stay as they are. */
const UpdateTenant = Type.Object(
  {
    name: Type.Optional(Name),
    plan: Type.Optional(Plan),
    rate_limit_rpm: Type.Optional(Limit),
    max_sessions: Type.Optional(Limit),
    chat_context: Type.Optional(ChatContext),
  },
  { examples: [{ rate_limit_rpm: 600 }] },
);

/** A tenant as clients see it (specification 1, Tenant; decisions 1.1). */
const Tenant = Type.Object({
  id: Id,
  name: Type.String({ examples: ['Acme'] }),
  plan: Plan,
  rate_limit_rpm: Type.Integer({
    description: 'Requests a minute of all its credentials together',
    examples: [60],
  }),
  max_sessions: Type.Integer({
    description: 'Sessions that may have a turn in flight at one time',
    examples: [100],
  }),
  chat_context: ChatContext,
  created_at: Timestamp,
  updated_at: Timestamp,
  deleted_at: nullable(Timestamp),
  purge_after: nullable(Timestamp),
  purged_at: nullable(Timestamp),
});

/** A delete that is scheduled. */
const ScheduledDelete = Type.Object({
  status: Type.Literal('scheduled'),
  purge_after: nullable(Type.String({ ...Timestamp, examples: ['2030-03-02T08:30:00.000Z'] })),
});

const toTenantSettings = fromWire(UpdateTenant);
const write = toWire(Tenant);
const toScheduledDelete = toWire(ScheduledDelete);

/** A tenant's record on the wire. */
function toTenant(record: TenantRecord): Static<typeof Tenant> {
  return write({ ...record, plan: record.plan as Static<typeof Plan> });
}

/** What the audit record says of a tenant that was made or changed. */
function tenantChanges({ id, plan, rateLimitRpm, maxSessions, chatContext }: TenantRecord) {
  return {
    tenant_id: id,
    plan,
    rate_limit_rpm: rateLimitRpm,
    max_sessions: maxSessions,
    chat_context: chatContext,
  };
}

const common = { access: access.role(TENANT_ADMINISTRATION), tag: 'tenants' } as const;

const ListQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  include_deleted: Type.Optional(Type.Boolean({ default: false })),
});

/** Tenant records (specification 1, Tenants; decisions 0.6, 1.1). */
export function tenantRoutes(tenants: TenantAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/tenants',
      summary: 'Create a tenant',
      schema: { body: CreateTenant, responses: { 201: Tenant } },
      handle: async (call) => {
        const settings = { ...toTenantSettings(call.body), name: call.body.name };
        const created = await tenants.create(call.identity, settings);
        call.audit({ changes: tenantChanges(created) });
        return reply.created(toTenant(created));
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/tenants',
      summary: 'List tenants: all for operators, your own for others',
      schema: { query: ListQuery, responses: { 200: listOf('tenants', Tenant) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query);
        const { records, total } = await tenants.list(identity, page, query.include_deleted ?? false);
        return { tenants: records.map(toTenant), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/tenants/{id}',
      summary: 'Read a tenant, also a deleted one',
      schema: { params: IdParams, responses: { 200: Tenant } },
      handle: async ({ identity, params }) => toTenant(await tenants.get(identity, params.id)),
    }),
    route({
      ...common,
      method: 'PUT',
      path: '/v1/tenants/{id}',
      summary: 'Change a tenant; absent fields stay as they are',
      schema: {
        params: IdParams,
        body: UpdateTenant,
        responses: { 200: withExample(Tenant, { rate_limit_rpm: 600 }) },
      },
      handle: async (call) => {
        const { identity, params, body } = call;
        const changed = await tenants.update(identity, params.id, toTenantSettings(body));
        call.audit({ changes: tenantChanges(changed) });
        return toTenant(changed);
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/tenants/{id}',
      summary: 'Schedule the removal of a tenant; its credentials fail from now on',
      schema: { params: IdParams, responses: { 202: ScheduledDelete } },
      handle: async ({ identity, params }) => {
        const { purgeAfter } = await tenants.scheduleDelete(identity, params.id);
        return reply.json(202, toScheduledDelete({ status: 'scheduled', purgeAfter }));
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/tenants/{id}/restore',
      failures: ['gone'],
      summary: 'Take a scheduled removal back',
      schema: { params: IdParams, responses: { 200: Tenant } },
      handle: async ({ identity, params }) => toTenant(await tenants.restore(identity, params.id)),
    }),
  ];
}
