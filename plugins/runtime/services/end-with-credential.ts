import { ApiKeyRevoked, ApiKeyRotated, isUuid, type Leases, type Scope, TenantDeleted } from 'agent-gateway';

/**
 * What the lease of a chat notes of the identity that began it: the id of its key. Others are not looked for, and the
 * subject of a JWT may hold what a note may not.
 */
export const identityNote = (identityId: string) => (isUuid(identityId) ? identityId : '');

/**
 * Ends chats that run without a client when their API key is revoked, also by its rotation, or their tenant deleted, on
 * any replica: those that hold a lease of one of these keys, with `identityNote` as its note. Other chats end with the
 * connection of their client.
 */
export function endWithCredential(
  scope: Pick<Scope, 'services' | 'subscribe'>,
  leaseKeys: readonly ((tenantId: string) => string)[],
): void {
  const leases: Pick<Leases, 'list' | 'revoke'> = scope.services.leases;

  async function end(tenantId: string, identityId?: string): Promise<void> {
    for (const key of leaseKeys.map((keyOf) => keyOf(tenantId))) {
      for (const { name, note } of await leases.list(key)) {
        if (identityId === undefined || note === identityId) await leases.revoke(key, name);
      }
    }
  }

  scope.subscribe(TenantDeleted, (_, { tenantId }) => end(tenantId));
  for (const event of [ApiKeyRevoked, ApiKeyRotated])
    scope.subscribe(event, ({ key_id }, { tenantId }) => end(tenantId, key_id));
}
