import { access, pageOf, pageQuery, type Route, reply, route, TENANT_ADMINISTRATION } from 'agent-gateway';
import type { KeyAdministration } from '../services/key-administration.ts';
import { tenantOfNewKey } from '../services/key-rules.ts';
import {
  ApiKey,
  CreatedKey,
  CreateKey,
  KEY_HEADERS,
  toApiKey,
  toCreatedKey,
  toWantedKey,
} from './schemas/api-key.ts';
import { IdParams, listOf } from './schemas/common.ts';

const MAX_PAGE = 500;
const common = { access: access.role(TENANT_ADMINISTRATION), tag: 'api-keys' } as const;

/** API keys within the caller's reach (specification 1, API keys; decisions 1.2). */
export function apiKeyRoutes(keys: KeyAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/api-keys',
      summary: 'Make an API key; its raw value is shown once',
      schema: { body: CreateKey, responses: { 201: CreatedKey } },
      handle: async ({ identity, body }) => {
        const tenantId = tenantOfNewKey(identity, body.tenant_id);
        return reply.created(
          toCreatedKey(await keys.create(identity, tenantId, toWantedKey(body))),
          KEY_HEADERS,
        );
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/api-keys',
      summary: 'List API keys, revoked ones too: of all tenants for operators, of your own for others',
      schema: { query: pageQuery({ defaultLimit: 50 }), responses: { 200: listOf('api_keys', ApiKey) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query, MAX_PAGE);
        const { records, total } = await keys.list(identity, page);
        return { api_keys: records.map(toApiKey), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/api-keys/{id}',
      summary: 'Revoke an API key',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async ({ identity, params }) => {
        await keys.revoke(identity, params.id);
        return reply.empty();
      },
    }),
  ];
}
