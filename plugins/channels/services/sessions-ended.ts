import { defineEvent, Type } from 'agent-gateway';

const Id = Type.Optional(Type.String({ maxLength: 64 }));

/**
 * Cookie sessions that have ended: the one with the hash of its token, or all that match the tenant, app and user that
 * are named. A replica that does not receive the event keeps them in its cache for a second longer.
 */
export const SessionsEnded = defineEvent(
  'channels.sessions-ended',
  Type.Object({ token_hash: Id, tenant_id: Id, channel_app_id: Id, user_id: Id }),
);

/** The content of the event. */
export interface EndedSessions {
  readonly token_hash?: string;
  readonly tenant_id?: string;
  readonly channel_app_id?: string;
  readonly user_id?: string;
}
