import Type from 'typebox';
import { defineEvent, type Events } from '../../foundation/messages/events/events.ts';
import type { Tenants } from '../tenancy/tenants.ts';
import type { IdentityCache } from './identity-cache.ts';

/** A key was revoked or replaced. Told by its hash: that is what the caches know it by. */
const KeyChanged = defineEvent('kernel.key-changed', Type.Object({ hash: Type.String({ maxLength: 64 }) }));
/** A tenant was changed, deleted or restored. */
const TenantChanged = defineEvent(
  'kernel.tenant-changed',
  Type.Object({ id: Type.String({ maxLength: 64 }) }),
);

/** Tells the other replicas what to forget. The age of what is cached bounds what is not heard. */
export interface CredentialEvents {
  keyChanged(hash: string): void;
  tenantChanged(id: string): void;
  /** Hears the other replicas from now on; returns what ends that. */
  follow(identities: IdentityCache, tenants: Pick<Tenants, 'forget'>): () => void;
}

/** Drops cached credentials over all replicas at once, as far as events reach. */
export function credentialEvents(events: Events): CredentialEvents {
  return {
    keyChanged: (hash) => events.emit(KeyChanged, { hash }),
    tenantChanged: (id) => events.emit(TenantChanged, { id }),
    follow(identities, tenants) {
      const undo = [
        events.on(KeyChanged, ({ hash }, { origin }) => {
          if (origin === 'remote') identities.forget(hash);
        }),
        events.on(TenantChanged, ({ id }, { origin }) => {
          if (origin === 'remote') tenants.forget(id);
        }),
        events.onMissed(() => identities.clear()),
      ];
      return () => {
        for (const end of undo) end();
      };
    },
  };
}
