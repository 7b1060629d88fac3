import type { SqlEntityManager } from '@mikro-orm/sql';
import type { DurableEventsHost } from '../messages/durable-events/durable-events.ts';
import {
  ApiKeyCreated,
  ApiKeyRevoked,
  ApiKeyRotated,
  TenantCreated,
  TenantDeleted,
  TenantPurged,
  TenantRestored,
  TenantUpdated,
} from './lifecycle-events.ts';

/** A key that an event reports. */
interface ReportedKey {
  readonly id: string;
  readonly tenantId: string;
  readonly roles: readonly string[];
  readonly expiresAt: Date | null;
}

/** What is changed in the row of a tenant. */
interface TenantChanges {
  readonly deletedAt?: Date | null;
  readonly purgeAfter?: Date | null;
}

/** Publishes what happens to tenants and keys, in the transactions of their rows. */
export type Lifecycle = ReturnType<typeof tellLifecycle>;

/** Makes it. */
export function tellLifecycle({ publishOf }: Pick<DurableEventsHost, 'publishOf'>) {
  return {
    tenantCreated: (em: SqlEntityManager, { id, plan }: { readonly id: string; readonly plan: string }) =>
      publishOf(em, id, TenantCreated, { plan }),

    /** A deletion, its undoing, or other settings, whichever the changes say. */
    async tenantChanged(em: SqlEntityManager, id: string, changes: TenantChanges): Promise<void> {
      const { deletedAt, purgeAfter } = changes;
      if (deletedAt && purgeAfter)
        return publishOf(em, id, TenantDeleted, { purge_after: purgeAfter.toISOString() });
      if (deletedAt === null) return publishOf(em, id, TenantRestored, {});
      return publishOf(em, id, TenantUpdated, { changed: Object.keys(changes).map(wireName) });
    },

    tenantPurged: (em: SqlEntityManager, id: string) => publishOf(em, id, TenantPurged, {}),

    keyCreated(em: SqlEntityManager, { id, tenantId, roles, expiresAt }: ReportedKey): Promise<void> {
      const payload = { key_id: id, roles: [...roles], expires_at: expiresAt?.toISOString() ?? null };
      return publishOf(em, tenantId, ApiKeyCreated, payload);
    },

    keyRotated: (em: SqlEntityManager, old: Pick<ReportedKey, 'id' | 'tenantId'>, newId: string) =>
      publishOf(em, old.tenantId, ApiKeyRotated, { key_id: old.id, new_key_id: newId }),

    keyRevoked: (em: SqlEntityManager, { id, tenantId }: Pick<ReportedKey, 'id' | 'tenantId'>) =>
      publishOf(em, tenantId, ApiKeyRevoked, { key_id: id }),
  };
}

/** `rate_limit_rpm` of `rateLimitRpm`: the name that the API has. */
const wireName = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
