const FOR_A_YEAR = 'public, max-age=31536000, immutable';
const ASK_FIRST = 'no-cache';

const ENDING = /(?:\.(?:bundle|chunk|min|module))?\.\w+(?:\.map)?$/;
/** webpack, Parcel, Angular: hexadecimal digits, both letters and decimal digits, else it is a number or a word. */
const HEXADECIMAL = /(?:^|[.-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}$/;
/**
 * Vite, Rollup: eight characters of base64url, of each kind. A word with a number has its digits at the end, and does
 * not match.
 */
const BASE64 = /(?:^|[.-])(?=.*[a-z])(?=.+[A-Z])(?=.*\d[A-Za-z_-])[\w-]{8}$/;
/** esbuild: eight characters of base32. */
const BASE32 = /(?:^|[.-])(?=.*\d[A-Z])[A-Z2-7]{8}$/;

/**
 * `Cache-Control` of a file by its name: a file that a build tool has named by its content never changes, and is cached
 * for a year. Every other file is cached too, but revalidated before each use, which costs a 304. A name in doubt
 * counts as unhashed, since a wrong guess would be stale for a year. Pure.
 */
export function cacheControl(name: string): string {
  const stem = name.slice(name.lastIndexOf('/') + 1).replace(ENDING, '');
  return [HEXADECIMAL, BASE64, BASE32].some((hash) => hash.test(stem)) ? FOR_A_YEAR : ASK_FIRST;
}
