import type { Authenticator, Clock, Credentials } from 'agent-gateway';
import { CHANNEL_SESSION } from '../contract.ts';
import { CSRF_HEADER, SESSION_COOKIE } from './cookies.ts';
import { ChannelErrors } from './errors.ts';
import { hasHash, hashOf, isSecret } from './secrets.ts';
import type { KnownSession } from './sessions.ts';

type Outcome = ReturnType<Authenticator['authenticate']>;

/** Methods that change nothing: they need no header in addition to the cookie. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const UNKNOWN = { failure: 'unknown' } as const;

/**
 * Recognizes the cookie `svc_session` on requests without an `Authorization` header. A request that may change
 * something needs the secret of `svc_csrf` in `X-Svc-CSRF` as well (403 without): pages of other sites can make a
 * browser send the cookie, but cannot read `svc_csrf`. A user cannot act for another one: an `X-Svc-User-Id` other than
 * the user's own is 403.
 *
 * @param find the session of a token by its hash
 * @param clock the one by which logins give sessions their time, whichever replica made them
 */
export function channelAuthenticator(
  find: (tokenHash: string) => KnownSession | undefined | Promise<KnownSession | undefined>,
  clock: Pick<Clock, 'now'>,
): Authenticator {
  function judge(session: KnownSession | undefined, credentials: Credentials): Awaited<Outcome> {
    if (session === undefined) return UNKNOWN;
    const { id: identityId, tenantId } = session.identity;
    const refused = { tenantId, identityId } as const;
    if (session.expiresAt <= clock.now()) return { failure: 'expired', ...refused };
    if (!SAFE.has(credentials.method) && !hasCsrf(session, credentials.header(CSRF_HEADER))) {
      return { failure: 'invalid', ...refused, error: ChannelErrors.csrf() };
    }
    const user = credentials.header('x-svc-user-id');
    if (user !== undefined && user !== '' && user !== identityId) {
      return { failure: 'invalid', ...refused, error: ChannelErrors.foreignUser() };
    }
    return { identity: session.identity };
  }

  return {
    name: CHANNEL_SESSION,
    places: [{ in: 'cookie', name: SESSION_COOKIE }],
    authenticate(credentials) {
      if (credentials.header('authorization') !== undefined) return undefined;
      const token = credentials.cookie(SESSION_COOKIE);
      if (token === undefined || token === '') return undefined;
      if (!isSecret(token)) return UNKNOWN;
      const known = find(hashOf(token));
      return known instanceof Promise
        ? known.then((session) => judge(session, credentials))
        : judge(known, credentials);
    },
  };
}

/** Whether a header holds the secret of the session's `svc_csrf`. */
export function hasCsrf({ csrfHash }: Pick<KnownSession, 'csrfHash'>, header: string | undefined): boolean {
  return header !== undefined && isSecret(header) && hasHash(header, csrfHash);
}
