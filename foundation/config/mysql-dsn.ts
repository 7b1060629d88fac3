import { parseAddress } from './address.ts';

/** The URL behind a data source name, or why it cannot be used; the reason names no part of the text. */
export type MysqlUrl = { readonly url: string } | { readonly problem: string };

/** Go's `tls` values in the words of MySQL's own connection URLs. */
const TLS_MODES = new Map([
  ['true', 'VERIFY_IDENTITY'],
  ['skip-verify', 'REQUIRED'],
  ['preferred', 'PREFERRED'],
  ['false', undefined],
]);

const DEFAULT_PORT = 3306;
const FORM = 'write user:password@tcp(host:3306)/database';

/**
 * Turns a data source name of Go's MySQL driver (`user:pass@tcp(host:3306)/db?tls=true`) into a URL. Of its parameters
 * `tls` (as `ssl-mode`) and `charset` are kept; the others tune the Go client and mean nothing here.
 * https://github.com/go-sql-driver/mysql#dsn-data-source-name
 */
export function mysqlUrlOf(dsn: string): MysqlUrl {
  // Like the Go driver: the last slash and the last @ separate, since a password may hold both.
  const slash = dsn.lastIndexOf('/');
  if (slash < 0) return { problem: `is not a data source name, ${FORM}` };
  const left = dsn.slice(0, slash);
  const at = left.lastIndexOf('@');
  const [user, password] = splitOnce(left.slice(0, Math.max(at, 0)), ':');
  const [database, query] = splitOnce(dsn.slice(slash + 1), '?');
  if (database === '') return { problem: `names no database, ${FORM}` };
  const server = serverOf(left.slice(at + 1));
  if (server === undefined) return { problem: `names no server that is reached by TCP, ${FORM}` };
  const parameters = parametersOf(new URLSearchParams(query));
  if (typeof parameters === 'string') return { problem: parameters };
  const url = new URL(`mysql://${server}/${encodeURIComponent(database)}`);
  url.username = encodeURIComponent(user);
  url.password = encodeURIComponent(password ?? '');
  url.search = parameters.toString();
  return { url: url.href };
}

/** `tcp(host:port)`, `tcp(host)`, `tcp` or nothing, as `host:port` of a URL. */
function serverOf(text: string): string | undefined {
  if (text === '' || text === 'tcp') return `127.0.0.1:${DEFAULT_PORT}`;
  const inner = /^tcp\(([^()]+)\)$/.exec(text)?.[1];
  if (inner === undefined) return undefined;
  const written = /:\d+$/.test(inner) ? inner : `${inner}:${DEFAULT_PORT}`;
  const address = parseAddress(written);
  if (address === undefined || written.startsWith(':')) return undefined;
  return written;
}

function parametersOf(given: URLSearchParams): URLSearchParams | string {
  const kept = new URLSearchParams();
  const tls = given.get('tls');
  if (tls !== null) {
    if (!TLS_MODES.has(tls)) return `tls must be one of ${[...TLS_MODES.keys()].join(', ')}`;
    const mode = TLS_MODES.get(tls);
    if (mode !== undefined) kept.set('ssl-mode', mode);
  }
  const charset = given.get('charset');
  if (charset !== null) kept.set('charset', charset.split(',')[0] ?? charset);
  return kept;
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + separator.length)];
}
