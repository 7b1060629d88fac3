/** The target of a login that names no place, or one that is not allowed. */
const HOME = '/';
/** Characters of a place at most, once it is percent-encoded. */
const MAX_LENGTH = 2_048;
/** The base against which places are resolved. The host does not exist, so that a place on any other host is recognized. */
const BASE = new URL('http://host.invalid/');

/**
 * The place on this host to which a login leads (decisions 1.10): one path, with query and fragment, percent-encoded; else `/`. A text that a browser
 * could take for another host (`//host`, `/\host`, a tab in between, dots that leave two slashes) is no such place.
 */
export function returnPath(wanted: string | undefined): string {
  if (wanted === undefined || !wanted.startsWith('/') || wanted.length > MAX_LENGTH) return HOME;
  if (UNSAFE.test(wanted)) return HOME;
  const url = URL.parse(wanted, BASE.href);
  if (url === null || url.origin !== BASE.origin || url.pathname.startsWith('//')) return HOME;
  const path = `${url.pathname}${url.search}${url.hash}`;
  return path.length > MAX_LENGTH ? HOME : path;
}

/** Two slashes at the begin; anywhere a backslash, which browsers read as a slash, or a control character, which they leave out. */
const UNSAFE = /^\/\/|[\\\p{Cc}\p{Cs}]/u;
