import { defineEntity } from '@mikro-orm/core';
import { column } from '../data/columns.ts';

/** An API key (core API, "API key"). The raw key is shown once and never stored. */
export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  indexes: [{ name: 'api_keys_tenant', properties: ['tenantId', 'createdAt', 'id'] }],
  uniques: [{ name: 'api_keys_hash', properties: ['hash'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    name: column.string(255),
    /** The first 8 characters of the raw key. */
    prefix: column.string(8),
    /** SHA-256 of the raw key, 64 hexadecimal digits. */
    hash: column.string(64),
    roles: column.json<string[]>(),
    scopes: column.json<string[]>(),
    createdAt: column.time(),
    expiresAt: column.time().strictNullable(),
    revokedAt: column.time().strictNullable(),
    /** Written at most once a minute. */
    lastUsedAt: column.time().strictNullable(),
    /** Identity of the credential that made the key. */
    createdBy: column.string(255).strictNullable(),
  },
});
