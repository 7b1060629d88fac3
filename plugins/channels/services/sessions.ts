import { type Clock, createSharedCache, type Database, type Events, type Identity } from 'agent-gateway';
import { CHANNEL_SESSION } from '../contract.ts';
import { findSession } from '../store/logins.ts';
import { SessionTable } from '../store/tables.ts';
import { type EndedSessions, SessionsEnded } from './sessions-ended.ts';

/** What a request needs to know of a cookie session. */
export interface KnownSession {
  readonly identity: Identity;
  readonly channelAppId: string;
  readonly csrfHash: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What a cookie session may do (specification 1, Trusted channel login): it never grants anything of `admin`. */
const ROLES = Object.freeze(['user']);
const SCOPES: ReadonlySet<string> = new Set(['read', 'write', 'execute']);

/**
 * Milliseconds for which a session is cached: at most so long it stays valid here after another replica has ended it.
 */
const MAX_AGE_MS = 1_000;
const MAX_SESSIONS = 10_000;

/** The cookie sessions, as requests ask for them. */
export function createSessions(parts: {
  readonly database: Pick<Database, 'system' | 'forTenant'>;
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
}) {
  const { database, events, clock } = parts;
  const bounds = { maxAge: MAX_AGE_MS, maxEntries: MAX_SESSIONS };
  const cache = createSharedCache<KnownSession | undefined>({ load, clock, ...bounds });

  async function load(tokenHash: string): Promise<KnownSession | undefined> {
    const row = await findSession(database, tokenHash);
    if (row === undefined) return undefined;
    const { tenantId, userId, channelAppId, csrfHash, expiresAt } = row;
    return {
      identity: { id: userId, tenantId, roles: ROLES, scopes: SCOPES, method: CHANNEL_SESSION },
      channelAppId,
      csrfHash,
      expiresAt: expiresAt.getTime(),
    };
  }

  /** Forgets sessions here. */
  function forget({ token_hash, tenant_id, channel_app_id, user_id }: EndedSessions): void {
    if (token_hash !== undefined) {
      cache.forget(token_hash);
      return;
    }
    const isNamed = (name: string | undefined, value: string) => name === undefined || name === value;
    cache.forgetWhere(
      ({ identity, channelAppId }) =>
        isNamed(tenant_id, identity.tenantId) &&
        isNamed(channel_app_id, channelAppId) &&
        isNamed(user_id, identity.id),
    );
  }

  /**
   * Forgets sessions on every replica; to be called after their rows were deleted, and also where the deletion may have
   * failed.
   */
  function ended(sessions: EndedSessions): void {
    forget(sessions);
    events.emit(SessionsEnded, sessions);
  }

  return {
    /** The session of a token by its hash, expired ones too. Returned without a promise when it is cached. */
    find: cache.get,
    forget,
    /** Forgets all sessions, for example after a time in which this process may have missed events. */
    clear: cache.clear,
    ended,
    /** Ends one session. */
    async end(tokenHash: string, { identity }: Pick<KnownSession, 'identity'>): Promise<void> {
      try {
        await database.forTenant(identity.tenantId).delete(SessionTable, { id: tokenHash });
      } finally {
        // Also after a failure: the commit may have happened although its answer was lost.
        ended({ token_hash: tokenHash });
      }
    },
  };
}
