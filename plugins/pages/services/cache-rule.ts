const FOR_A_YEAR = 'public, max-age=31536000, immutable';
const ASK_FIRST = 'no-cache';

const ENDING = /(?:\.(?:bundle|chunk|min|module))?\.\w+(?:\.map)?$/;
/** webpack, Parcel, Angular: hexadecimal digits, of both kinds, or it is a number or a word. */
const HEXADECIMAL = /(?:^|[.-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}$/;
/** Vite, Rollup: eight characters of base64url, of each kind. Of a word with a number the digits are at the end. */
const BASE64 = /(?:^|[.-])(?=.*[a-z])(?=.+[A-Z])(?=.*\d[A-Za-z_-])[\w-]{8}$/;
/** esbuild: eight characters of base32. */
const BASE32 = /(?:^|[.-])(?=.*\d[A-Z])[A-Z2-7]{8}$/;

/**
 * `Cache-Control` of a file by its name: what a build tool has named by its content never changes, and is kept for a year; all else is kept too, and asked
 * for before each use, which costs a 304. What is taken for hashed by mistake would be stale for a year, so a name in doubt is not. Pure.
 */
export function cacheControl(name: string): string {
  const stem = name.slice(name.lastIndexOf('/') + 1).replace(ENDING, '');
  return [HEXADECIMAL, BASE64, BASE32].some((hash) => hash.test(stem)) ? FOR_A_YEAR : ASK_FIRST;
}
