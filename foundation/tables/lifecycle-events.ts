import { Type } from '../base/type.ts';
import { Timestamp } from '../base/wire.ts';
import { defineDurableEvent } from '../messages/durable-events/durable-events.ts';

const KeyId = Type.String();

/** A tenant was made. The default tenant, which every deployment has, never is. */
export const TenantCreated = defineDurableEvent(
  'kernel.tenant-created',
  Type.Object({ plan: Type.String() }),
);

/** Settings of a tenant were changed; `changed` names them. */
export const TenantUpdated = defineDurableEvent(
  'kernel.tenant-updated',
  Type.Object({ changed: Type.Array(Type.String()) }),
);

/**
 * A tenant was deleted: none of its credentials is accepted any more. Its data stays, and it may be restored, until
 * `purge_after`.
 */
export const TenantDeleted = defineDurableEvent(
  'kernel.tenant-deleted',
  Type.Object({ purge_after: Timestamp }),
);

/** The deletion of a tenant was taken back. Its keys work again. */
export const TenantRestored = defineDurableEvent('kernel.tenant-restored', Type.Object({}));

/**
 * All that the gateway kept of a deleted tenant is gone, its keys and sessions too: of these no event reports one by
 * one.
 */
export const TenantPurged = defineDurableEvent('kernel.tenant-purged', Type.Object({}));

/** An API key was made: by its administration, by bootstrap, or for a user of the runtime. */
export const ApiKeyCreated = defineDurableEvent(
  'kernel.api-key-created',
  Type.Object({
    key_id: KeyId,
    roles: Type.Array(Type.String()),
    expires_at: Type.Union([Timestamp, Type.Null()]),
  }),
);

/**
 * An API key was replaced by another one with the same rights. Neither `ApiKeyCreated` nor `ApiKeyRevoked` reports it
 * as well.
 */
export const ApiKeyRotated = defineDurableEvent(
  'kernel.api-key-rotated',
  Type.Object({ key_id: KeyId, new_key_id: KeyId }),
);

/** An API key was revoked. The end of its time, and the deletion of its tenant, are no revocation. */
export const ApiKeyRevoked = defineDurableEvent('kernel.api-key-revoked', Type.Object({ key_id: KeyId }));
