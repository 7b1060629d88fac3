import type { Credentials } from '../../../kernel/auth/authenticator.ts';

/** What a transport would have found: a bearer token and headers by lower-case name. */
export function credentials(bearer?: string, headers: Record<string, string> = {}): Credentials {
  return {
    bearer,
    header: (name) => headers[name],
    cookie: () => undefined,
    method: 'GET',
    path: '/',
    target: '/',
    loopback: true,
  };
}
