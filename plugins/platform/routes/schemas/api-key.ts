import { type ApiKeyRecord, KernelErrors, type NewApiKey } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { WantedKey } from '../../services/key-administration.ts';
import { Name, nullable, Timestamp, toNullableTimestamp, toTimestamp } from './common.ts';

const Word = Type.String({ maxLength: 100 });

/** When a new key expires; absent or `null`: never. */
export const ExpiresAt = Type.Optional(
  nullable(
    Type.String({ format: 'date-time', maxLength: 40, description: 'RFC 3339, in the future; null: never' }),
  ),
);

/** What a body says about a key of a tenant that is known already. */
const settings = {
  name: Name,
  roles: Type.Optional(Type.Array(Word, { minItems: 1, maxItems: 64, default: ['user'] })),
  scopes: Type.Optional(
    Type.Array(Word, { maxItems: 64, default: [], description: 'Empty: read, write and execute' }),
  ),
  expires_at: ExpiresAt,
};

/** The body that makes a key of the tenant in the path. */
export const CreateTenantKey = Type.Object(settings);

/** The body that makes a key (specification 1, API keys; decisions 1.2). */
export const CreateKey = Type.Object({
  ...settings,
  tenant_id: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Default: your own; others for administrators of the default tenant',
    }),
  ),
});

/** A key as it is told: never its raw value, never its hash. */
export const ApiKey = Type.Object({
  id: Type.String(),
  prefix: Type.String({ description: 'The first 8 characters of the key' }),
  name: Type.String(),
  tenant_id: Type.String(),
  roles: Type.Array(Type.String()),
  scopes: Type.Array(Type.String()),
  created_at: Timestamp,
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
});

/** The answer that makes a key: the only one that holds its raw value. */
export const CreatedKey = Type.Object({
  ...ApiKey.properties,
  key: Type.String({ description: 'The raw key; it is not shown again' }),
});

/** A raw key must not be kept by anything on its way. */
export const KEY_HEADERS = { 'cache-control': 'no-store' };

/** What a validated body wants. */
export function toWantedKey(body: Static<typeof CreateTenantKey>): WantedKey {
  return {
    name: body.name,
    roles: body.roles ?? ['user'],
    scopes: body.scopes ?? [],
    expiresAt: toExpiry(body.expires_at),
  };
}

/** The moment in a validated `expires_at`; throws 400 for a leap second, which is well-formed and cannot be stored. */
export function toExpiry(text: string | null | undefined): Date | null {
  if (text === undefined || text === null) return null;
  const moment = new Date(text);
  if (!Number.isNaN(moment.getTime())) return moment;
  throw KernelErrors.invalidRequest(undefined, {
    errors: [{ pointer: '/body/expires_at', message: 'must be a moment without a leap second' }],
  });
}

/** A key's record on the wire. */
export function toApiKey(record: ApiKeyRecord): Static<typeof ApiKey> {
  return {
    id: record.id,
    prefix: record.prefix,
    name: record.name,
    tenant_id: record.tenantId,
    roles: [...record.roles],
    scopes: [...record.scopes],
    created_at: toTimestamp(record.createdAt),
    expires_at: toNullableTimestamp(record.expiresAt),
    revoked_at: toNullableTimestamp(record.revokedAt),
    last_used_at: toNullableTimestamp(record.lastUsedAt),
  };
}

/** A key just made, with its raw value. */
export function toCreatedKey({ record, key }: NewApiKey): Static<typeof CreatedKey> {
  return { ...toApiKey(record), key };
}
