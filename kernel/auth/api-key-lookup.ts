import type { Database } from '../../foundation/data/database.ts';
import { ApiKey } from '../../foundation/tables/api-key.ts';
import { effectiveScopes } from '../access/roles.ts';
import type { KnownKey } from './identity-cache.ts';

/** Reads API keys by their hash: what the identity cache asks when it does not know. Reaches across tenants, since the key says which one. */
export function createApiKeyLookup(
  database: Pick<Database, 'system'>,
): (hash: string) => Promise<KnownKey | undefined> {
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
