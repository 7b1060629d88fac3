import { hashOf } from './secrets.ts';

/** Holds the token of a session; scripts cannot read it. */
export const SESSION_COOKIE = 'svc_session';
/** Holds what a page sends back in `CSRF_HEADER`. */
export const CSRF_COOKIE = 'svc_csrf';
/** Comes with every call by cookie that may change something. */
export const CSRF_HEADER = 'x-svc-csrf';

/** Characters of the hash of a state that name the cookie of its login. */
const NAMED_BY = 16;

/**
 * The cookie that binds a login to the browser that began it: one for each, so that two tabs do not disturb each other.
 */
export function loginCookie(state: string): string {
  return `svc_login_${hashOf(state).slice(0, NAMED_BY)}`;
}
