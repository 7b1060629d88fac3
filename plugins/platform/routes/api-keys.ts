import {
  access,
  Id,
  IdParams,
  KernelErrors,
  listOf,
  type NewApiKey,
  nullable,
  pageOf,
  pageQuery,
  parseAuditTime,
  type Route,
  refusing,
  reply,
  route,
  searchQuery,
  TENANT_ADMINISTRATION,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import type { Static } from 'typebox';
import {
  type KeyAdministration,
  NO_MOMENT,
  tenantOfNewKey,
  type WantedKey,
} from '../services/key-administration.ts';
import { done, Name } from './common.ts';

const Word = Type.String({ maxLength: 100 });

/** When a new key expires; absent or `null`: never. */
export const ExpiresAt = Type.Optional(
  nullable(
    Type.String({ format: 'date-time', maxLength: 40, description: 'RFC 3339, in the future; null: never' }),
  ),
);

/** The settings of a key in a body, where the path names the tenant. */
const settings = {
  name: Type.String({ ...Name, examples: ['backend'] }),
  roles: Type.Optional(Type.Array(Word, { minItems: 1, maxItems: 64, default: ['user'] })),
  scopes: Type.Optional(
    Type.Array(Word, { maxItems: 64, default: [], description: 'Empty: read, write and execute' }),
  ),
  expires_at: ExpiresAt,
};

/** The body that makes a key of the tenant in the path. */
const CreateTenantKey = Type.Object(settings);

/** The body that makes a key (specification 1, API keys; decisions 1.2). */
const CreateKey = Type.Object({
  ...settings,
  tenant_id: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Default: your own; others for administrators of the default tenant',
    }),
  ),
});

/** The query of a list of keys. */
const KeyQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  ...searchQuery('name', 'prefix', 'id'),
});

/** A key as clients see it: never its raw value, never its hash. */
const ApiKey = Type.Object({
  id: Id,
  prefix: Type.String({ description: 'The first 8 characters of the key', examples: ['hk_FYv8y'] }),
  name: Type.String({ examples: ['backend'] }),
  tenant_id: Id,
  roles: Type.Array(Type.String({ examples: ['user'] })),
  scopes: Type.Array(Type.String(), { examples: [[]] }),
  created_at: Timestamp,
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
});

/** The answer that makes a key: the only one that holds its raw value. */
export const CreatedKey = Type.Object({
  ...ApiKey.properties,
  key: Type.String({
    description: 'The raw key; it is not shown again',
    examples: ['hk_FYv8yfV9l5pGRQu9ydCy6-nPIbesmN6VhXsgDeoxWao'],
  }),
});

/** A raw key must not be cached. */
export const KEY_HEADERS = { 'cache-control': 'no-store' };

/** The key that a validated body asks for. */
function toWantedKey(body: Static<typeof CreateTenantKey>): WantedKey {
  return {
    name: body.name,
    roles: body.roles ?? ['user'],
    scopes: body.scopes ?? [],
    expiresAt: toExpiry(body.expires_at),
  };
}

/** The moment in a validated `expires_at`; throws 400 for what is well-formed and no time, such as a leap second. */
export function toExpiry(text: string | null | undefined): Date | null {
  if (text === undefined || text === null) return null;
  const moment = parseAuditTime(text, 'to');
  if (moment !== undefined) return moment;
  throw KernelErrors.invalidRequest(undefined, { errors: [NO_MOMENT] });
}

const toApiKey = toWire(ApiKey);

/** A key just made, with its raw value. */
export function toCreatedKey({ record, key }: NewApiKey): Static<typeof CreatedKey> {
  return { ...toApiKey(record), key };
}

/** What the audit record says of a key just made. */
export function keyChanges({ record }: NewApiKey) {
  const { id, tenantId, roles, scopes, expiresAt } = record;
  return {
    api_key_id: id,
    tenant_id: tenantId,
    roles: roles.join(','),
    scopes: scopes.join(','),
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

const common = { access: access.role(TENANT_ADMINISTRATION), tag: 'api-keys' } as const;

/** API keys within the caller's reach (specification 1, API keys; decisions 1.2). */
export function apiKeyRoutes(keys: KeyAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/api-keys',
      failures: ['not-found'],
      summary: 'Make an API key; its raw value is shown once',
      schema: { body: CreateKey, responses: { 201: CreatedKey } },
      refuse: refusing(keys.problems),
      handle: async (call) => {
        const { identity, body } = call;
        const tenantId = tenantOfNewKey(identity, body.tenant_id);
        const created = await keys.create(identity, tenantId, toWantedKey(body));
        call.audit({ changes: keyChanges(created) });
        return reply.created(toCreatedKey(created), KEY_HEADERS);
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/api-keys',
      summary: 'List API keys, revoked ones too: of all tenants for operators, of your own for others',
      schema: { query: KeyQuery, responses: { 200: listOf('api_keys', ApiKey) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query);
        const { records, total } = await keys.list(identity, { ...page, q: query.q });
        return { api_keys: records.map(toApiKey), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/api-keys/{id}',
      summary: 'Revoke an API key',
      schema: { params: IdParams, responses: { 204: null } },
      handle: ({ identity, params }) => done(keys.revoke(identity, params.id)),
    }),
  ];
}

const READ = { access: access.governance(['key:read', 'tenant:read']), tag: 'tenant-api-keys' } as const;
const WRITE = { access: access.governance(['key:write']), tag: 'tenant-api-keys' } as const;

const KeyParams = Type.Object({ id: Type.String(), kid: Type.String() });
const Rotation = Type.Object({ new_key: CreatedKey, revoked_key_id: Id });

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
        query: KeyQuery,
        responses: { 200: listOf('api_keys', ApiKey) },
      },
      handle: async ({ identity, params, query }) => {
        const page = pageOf(query);
        const { records, total } = await keys.list(identity, { ...page, q: query.q }, params.id);
        return { api_keys: records.map(toApiKey), total, ...page };
      },
    }),
    route({
      ...WRITE,
      method: 'POST',
      path: '/admin/v1/tenants/{id}/api-keys',
      summary: 'Make an API key of a tenant; its raw value is shown once',
      schema: { params: IdParams, body: CreateTenantKey, responses: { 201: CreatedKey } },
      refuse: refusing(keys.problems),
      handle: async (call) => {
        const { identity, params, body } = call;
        const created = await keys.create(identity, params.id, toWantedKey(body));
        call.audit({ changes: keyChanges(created) });
        return reply.created(toCreatedKey(created), KEY_HEADERS);
      },
    }),
    route({
      ...WRITE,
      method: 'POST',
      path: '/admin/v1/tenants/{id}/api-keys/{kid}/rotate',
      summary: 'Replace an API key by a new one with the same rights; the old one is revoked',
      schema: { params: KeyParams, responses: { 201: Rotation } },
      handle: async (call) => {
        const { identity, params } = call;
        const created = await keys.rotate(identity, params.kid, params.id);
        call.audit({ changes: keyChanges(created) });
        return reply.created({ new_key: toCreatedKey(created), revoked_key_id: params.kid }, KEY_HEADERS);
      },
    }),
    route({
      ...WRITE,
      method: 'DELETE',
      path: '/admin/v1/tenants/{id}/api-keys/{kid}',
      summary: "Revoke a tenant's API key",
      schema: { params: KeyParams, responses: { 204: null } },
      handle: ({ identity, params }) => done(keys.revoke(identity, params.kid, params.id)),
    }),
  ];
}
