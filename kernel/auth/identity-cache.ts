import { createSharedCache } from '../../foundation/base/cache.ts';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Database } from '../../foundation/data/database.ts';
import { ApiKey } from '../../foundation/tables/api-key.ts';
import type { Identity } from '../access/identity.ts';
import { effectiveScopes } from '../access/roles.ts';

/** Reads API keys by hash, for the identity cache. Reaches across tenants, since the key says which one. */
export function createApiKeyLookup(database: Pick<Database, 'system'>): ApiKeyLookup {
  return async (hash) => {
    const row = await database.system().findOne(ApiKey, { hash });
    if (row === null) return undefined;
    const { id, tenantId, roles, scopes } = row;
    return {
      identity: { id, tenantId, roles, scopes: effectiveScopes(scopes, roles), method: 'api_key' },
      expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
      isRevoked: row.revokedAt !== null,
    };
  };
}

type ApiKeyLookup = (hash: string) => Promise<KnownKey | undefined>;

/** What a request needs to know about a stored API key. */
export interface KnownKey {
  readonly identity: Identity;
  /** Milliseconds since the epoch; `Infinity` for a key that does not expire. */
  readonly expiresAt: number;
  readonly isRevoked: boolean;
}

/**
 * API keys by the SHA-256 of their raw value. A hit is at most a second old, which bounds how long a key that another
 * replica revoked still works; `forget` makes it immediate here. That a key is unknown is remembered too: no caller can
 * have asked for a new key before it was made, since its value is 32 random bytes.
 */
export interface IdentityCache {
  /** The key, without a promise when it is at hand. */
  get(hash: string): KnownKey | undefined | Promise<KnownKey | undefined>;
  /** Drops one key: it was revoked, or changed. */
  forget(hash: string): void;
  /** Drops all keys of a tenant: it was deleted. */
  forgetTenant(tenantId: string): void;
  /** Drops everything, as after a lost connection to the channel that reports revocations. */
  clear(): void;
}

/** The longest time that a revocation by another replica takes (decisions 1.2). */
const MAX_AGE_MS = 1000;
const MAX_KEYS = 10_000;

/** Makes an empty cache before `load`, which reads one key by its hash. */
export function createIdentityCache(load: ApiKeyLookup, clock: Clock): IdentityCache {
  const bounds = { maxAge: MAX_AGE_MS, maxEntries: MAX_KEYS };
  const { forgetWhere, ...cache } = createSharedCache<KnownKey | undefined>({ load, clock, ...bounds });
  return {
    ...cache,
    forgetTenant: (tenantId) => forgetWhere((key) => key.identity.tenantId === tenantId),
  };
}
