/** The target of a login that names no place, or one that is not allowed. */
const HOME = '/';
/** Characters of a place at most, once it is percent-encoded. */
const MAX_LENGTH = 2_048;
/**
 * The base against which places are resolved. The host does not exist, so that a place on any other host is recognized.
 */
const BASE = new URL('http://host.invalid/');

/**
 * The place on this host to which a login leads (decisions 1.10): one path, with query and fragment, percent-encoded;
 * else `home`. A text that a browser could take for another host (`//host`, `/\host`, a tab in between, dots that leave
 * two slashes) is no such place.
 *
 * @param home where the gateway begins on this host, see `homeOf`; default `/`
 */
export function returnPath(wanted: string | undefined, home: string = HOME): string {
  if (wanted === undefined || !wanted.startsWith('/') || wanted.length > MAX_LENGTH) return home;
  if (UNSAFE.test(wanted)) return home;
  const url = URL.parse(wanted, BASE.href);
  if (url === null || url.origin !== BASE.origin || url.pathname.startsWith('//')) return home;
  const path = `${url.pathname}${url.search}${url.hash}`;
  return path.length > MAX_LENGTH ? home : path;
}

/**
 * The place where the gateway begins: `/gateway/` for `https://a.example/gateway`, where `/` belongs to something else.
 */
export function homeOf(publicUrl: string): string {
  return returnPath(`${new URL(publicUrl).pathname.replace(/\/+$/, '')}/`);
}

/**
 * Two slashes at the begin; anywhere a backslash, which browsers read as a slash, or a control character, which they
 * leave out.
 */
const UNSAFE = /^\/\/|[\\\p{Cc}\p{Cs}]/u;
