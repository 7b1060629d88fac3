import { access, pageOf, pageQuery, type Route, reply, route } from 'agent-gateway';
import Type from 'typebox';
import type { KeyAdministration } from '../services/key-administration.ts';
import {
  ApiKey,
  CreatedKey,
  CreateTenantKey,
  KEY_HEADERS,
  toApiKey,
  toCreatedKey,
  toWantedKey,
} from './schemas/api-key.ts';
import { IdParams, listOf } from './schemas/common.ts';

const MAX_PAGE = 500;
const READ = { access: access.governance(['key:read', 'tenant:read']), tag: 'tenant-api-keys' } as const;
const WRITE = { access: access.governance(['key:write']), tag: 'tenant-api-keys' } as const;

const KeyParams = Type.Object({ id: Type.String(), kid: Type.String() });
const Rotation = Type.Object({ new_key: CreatedKey, revoked_key_id: Type.String() });

/** API keys of one tenant, by governance scopes (specification 1, Admin governance routes; decisions 1.2, 1.9). */
export function tenantApiKeyRoutes(keys: KeyAdministration): readonly Route[] {
  return [
    route({
      ...READ,
      method: 'GET',
      path: '/admin/v1/tenants/{id}/api-keys',
      summary: "List a tenant's API keys, revoked ones too",
      schema: {
        params: IdParams,
        query: pageQuery({ defaultLimit: 50 }),
        responses: { 200: listOf('api_keys', ApiKey) },
      },
      handle: async ({ identity, params, query }) => {
        const page = pageOf(query, MAX_PAGE);
        const { records, total } = await keys.list(identity, page, params.id);
        return { api_keys: records.map(toApiKey), total, ...page };
      },
    }),
    route({
      ...WRITE,
      method: 'POST',
      path: '/admin/v1/tenants/{id}/api-keys',
      summary: 'Make an API key of a tenant; its raw value is shown once',
      schema: { params: IdParams, body: CreateTenantKey, responses: { 201: CreatedKey } },
      handle: async ({ identity, params, body }) => {
        const created = await keys.create(identity, params.id, toWantedKey(body));
        return reply.created(toCreatedKey(created), KEY_HEADERS);
      },
    }),
    route({
      ...WRITE,
      method: 'POST',
      path: '/admin/v1/tenants/{id}/api-keys/{kid}/rotate',
      summary: 'Replace an API key by a new one with the same rights; the old one is revoked',
      schema: { params: KeyParams, responses: { 201: Rotation } },
      handle: async ({ identity, params }) => {
        const created = await keys.rotate(identity, params.kid, params.id);
        return reply.created({ new_key: toCreatedKey(created), revoked_key_id: params.kid }, KEY_HEADERS);
      },
    }),
    route({
      ...WRITE,
      method: 'DELETE',
      path: '/admin/v1/tenants/{id}/api-keys/{kid}',
      summary: "Revoke a tenant's API key",
      schema: { params: KeyParams, responses: { 204: null } },
      handle: async ({ identity, params }) => {
        await keys.revoke(identity, params.kid, params.id);
        return reply.empty();
      },
    }),
  ];
}
