import { access, pageOf, pageQuery, type Route, reply, route, TENANT_ADMINISTRATION } from 'agent-gateway';
import Type from 'typebox';
import type { TenantAdministration } from '../services/tenant-administration.ts';
import { IdParams, listOf, toNullableTimestamp } from './schemas/common.ts';
import {
  CreateTenant,
  ScheduledDelete,
  Tenant,
  toTenant,
  toTenantSettings,
  UpdateTenant,
} from './schemas/tenant.ts';

const MAX_PAGE = 500;
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
      handle: async ({ identity, body }) => {
        const settings = { ...toTenantSettings(body), name: body.name };
        return reply.created(toTenant(await tenants.create(identity, settings)));
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/tenants',
      summary: 'List tenants: all for operators, your own for others',
      schema: { query: ListQuery, responses: { 200: listOf('tenants', Tenant) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query, MAX_PAGE);
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
      schema: { params: IdParams, body: UpdateTenant, responses: { 200: Tenant } },
      handle: async ({ identity, params, body }) =>
        toTenant(await tenants.update(identity, params.id, toTenantSettings(body))),
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/tenants/{id}',
      summary: 'Schedule the removal of a tenant; its credentials fail from now on',
      schema: { params: IdParams, responses: { 202: ScheduledDelete } },
      handle: async ({ identity, params }) => {
        const { purgeAfter } = await tenants.scheduleDelete(identity, params.id);
        return reply.json(202, { status: 'scheduled', purge_after: toNullableTimestamp(purgeAfter) });
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/tenants/{id}/restore',
      summary: 'Take a scheduled removal back',
      schema: { params: IdParams, responses: { 200: Tenant } },
      handle: async ({ identity, params }) => toTenant(await tenants.restore(identity, params.id)),
    }),
  ];
}
