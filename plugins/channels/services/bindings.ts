import {
  type Database,
  type Identity,
  isUuid,
  narrowedTo,
  type Page,
  RETRY_RACES,
  reachOf,
} from 'agent-gateway';
import { type BindingFilter, findBinding, pageOfBindings, revokeBinding } from '../store/bindings.ts';
import type { BindingRow } from '../store/tables.ts';
import { ChannelErrors } from './errors.ts';
import type { EndedSessions } from './sessions-ended.ts';

/** What administrators do with bindings (decisions 1.10). Bindings out of the caller's reach are not there. */
export function createBindings(parts: {
  readonly database: Pick<Database, 'system' | 'forTenant' | 'clock'>;
  readonly ended: (sessions: EndedSessions) => void;
}) {
  const { database, ended } = parts;
  return {
    /**
     * Operators: of all tenants, or of `tenantId`. Others: their own; a foreign `tenantId` has none to show. Revoked
     * ones included.
     */
    async list(identity: Identity, { tenantId, channelAppId }: BindingFilter, page: Page) {
      const only = narrowedTo(identity, tenantId);
      if (only === null || (channelAppId !== undefined && !isUuid(channelAppId)))
        return { bindings: [], total: 0 };
      return pageOfBindings(database, { tenantId: only, channelAppId }, page);
    },

    /**
     * Revokes a binding and ends the cookie sessions of its user: in this process at once, on other replicas within a
     * second. Links that were made before do not let the user in again. Throws `channel.binding-not-found`.
     */
    async revoke(identity: Identity, id: string): Promise<BindingRow> {
      const binding = isUuid(id) ? await findBinding(database, id, reachOf(identity)) : undefined;
      if (binding === undefined) throw ChannelErrors.bindingNotFound();
      const { tenantId, userId } = binding;
      // By the clock by which links are made, on whichever replica.
      const revokedAt = new Date(database.clock.now());
      try {
        await database
          .forTenant(tenantId)
          .transaction((entities) => revokeBinding(entities, binding, revokedAt), RETRY_RACES);
      } finally {
        // Also after a failure: the commit may have happened although its answer was lost.
        ended({ tenant_id: tenantId, user_id: userId });
      }
      return binding;
    },
  };
}
