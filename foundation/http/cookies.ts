/**
 * The value of a cookie in a `Cookie` header, as it stands there; of cookies of one name the first. `undefined` where
 * there is none.
 */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=');
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}

/**
 * A cookie that is set, for the whole host, and sent with requests of its own site and with links that lead to it
 * (`SameSite=Lax`).
 */
export interface NewCookie {
  readonly name: string;
  /** Letters, digits and `-._~` alone; nothing is encoded. */
  readonly value: string;
  /** Seconds; 0 takes the cookie away. */
  readonly maxAge: number;
  /** Only over https. */
  readonly secure: boolean;
  /** Scripts of the page may read it; default false. */
  readonly readable?: boolean;
}

/**
 * The `Set-Cookie` header of a cookie (RFC 6265, 4.1). Throws a TypeError for a name or value that would need encoding.
 */
export function setCookie({ name, value, maxAge, secure, readable = false }: NewCookie): string {
  if (!PLAIN.test(`${name}${value}`)) throw new TypeError(`the cookie ${name} would need encoding`);
  return [
    `${name}=${value}`,
    'Path=/',
    `Max-Age=${maxAge}`,
    'SameSite=Lax',
    ...(secure ? ['Secure'] : []),
    ...(readable ? [] : ['HttpOnly']),
  ].join('; ');
}

const PLAIN = /^[A-Za-z0-9._~-]+$/;
