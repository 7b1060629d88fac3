import { isIP } from 'node:net';
import path from 'node:path';
import { isDecodable } from '../base/decodable.ts';
import type { ConfigurationProblem } from './configuration-error.ts';
import { parseAddress, WRITE_PERCENT } from './units.ts';

/** The database of the gateway. */
export type DatabaseSettings = (
  | { readonly driver: 'sqlite' /** Path of the database file. */; readonly file: string }
  | { readonly driver: 'postgres' /** Holds a password. */; readonly url: string }
  | { readonly driver: 'mysql' /** Holds a password; MySQL or MariaDB. */; readonly url: string }
) & {
  /** The variable that decides where it is. */
  readonly setBy: 'DATABASE_URL' | 'MYSQL_DSN' | 'SVC_DATA_DIR';
};

/** The variables that decide about the database, decoded one by one. */
interface DatabaseVariables {
  readonly driver?: 'sqlite' | 'postgres' | 'mysql';
  readonly url?: string;
  readonly mysqlDsn?: string;
  readonly dataDir: string;
}

type Driver = DatabaseSettings['driver'];
type ServerVariable = 'DATABASE_URL' | 'MYSQL_DSN';
type Report = (name: string, message: string) => undefined;

const SCHEMES: Readonly<Record<string, Driver>> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mariadb:': 'mysql',
  'sqlite:': 'sqlite',
  'file:': 'sqlite',
};

const EXAMPLES: Readonly<Record<Driver, string>> = {
  postgres: 'postgres://user:password@host:5432/database',
  mysql: 'mysql://user:password@host:3306/database',
  sqlite: 'sqlite:./data/gateway.db',
};

/**
 * Which database the variables name (decisions 0.4): the driver follows from the URL's scheme when only the URL is set,
 * and is SQLite in the data folder when nothing is. `MYSQL_DSN` counts without `DATABASE_URL` and with no other driver.
 * Pure; the problems hold no part of a URL but its scheme.
 */
export function databaseSettings(variables: DatabaseVariables): {
  readonly database?: DatabaseSettings;
  readonly problems: readonly ConfigurationProblem[];
} {
  const problems: ConfigurationProblem[] = [];
  const database = decide(variables, (name, message) => {
    problems.push({ name, message });
    return undefined;
  });
  return { database, problems };
}

function decide(variables: DatabaseVariables, report: Report): DatabaseSettings | undefined {
  const { driver, url, mysqlDsn, dataDir } = variables;
  if (url !== undefined) return fromUrl(url, driver, report);
  if (mysqlDsn !== undefined && (driver === undefined || driver === 'mysql'))
    return fromDsn('MYSQL_DSN', mysqlDsn, report);
  if (driver === undefined || driver === 'sqlite')
    return { driver: 'sqlite', file: path.join(dataDir, 'gateway.db'), setBy: 'SVC_DATA_DIR' };
  return report('DATABASE_URL', `is needed with DATABASE_DRIVER=${driver}, write ${EXAMPLES[driver]}`);
}

function fromUrl(url: string, driver: Driver | undefined, report: Report): DatabaseSettings | undefined {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(url)?.[0].toLowerCase() ?? '';
  const named = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  if (named === undefined) {
    if (driver === 'mysql') return fromDsn('DATABASE_URL', url, report);
    return report('DATABASE_URL', `is not the URL of a database, write ${EXAMPLES[driver ?? 'postgres']}`);
  }
  if (driver !== undefined && driver !== named) {
    return report('DATABASE_URL', `begins with ${scheme} but DATABASE_DRIVER is ${driver}`);
  }
  if (named === 'sqlite') return fromFileUrl(url, scheme, report);
  return fromServerUrl('DATABASE_URL', url, named, report);
}

function fromServerUrl(
  name: ServerVariable,
  url: string,
  driver: 'postgres' | 'mysql',
  report: Report,
): DatabaseSettings | undefined {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.pathname.length < 2)
    return report(name, `is not a complete URL, write ${EXAMPLES[driver]}`);
  if (!isDecodable(url)) return report(name, WRITE_PERCENT);
  const problem = driver === 'mysql' ? mysqlTlsProblem(parsed) : undefined;
  return problem === undefined ? { driver, url, setBy: name } : report(name, problem);
}

/** What `ssl-mode` may be, as MySQL's own clients spell it. */
const SSL_MODES = ['DISABLED', 'PREFERRED', 'REQUIRED', 'VERIFY_CA', 'VERIFY_IDENTITY'];

/** Whoever misspells it would talk in plain text, or to anybody, and not learn of it. */
function mysqlTlsProblem({ hostname, searchParams }: URL): string | undefined {
  for (const [name, value] of searchParams) {
    if (!/ssl|tls/i.test(name)) continue;
    if (name !== 'ssl-mode') return 'asks for TLS by a parameter that is not known, write ssl-mode';
    const mode = value.toUpperCase();
    if (!SSL_MODES.includes(mode)) return `ssl-mode must be one of ${SSL_MODES.join(', ')}`;
    // The library compares names alone: of an address, the certificate would have to be of `localhost`.
    if (mode === 'VERIFY_IDENTITY' && isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
      return 'asks to verify the name of the server, and has an address in place of its name';
  }
  return undefined;
}

/** `sqlite:relative`, `sqlite:///absolute`, `file:relative`, `file:///absolute`. */
function fromFileUrl(url: string, scheme: string, report: Report): DatabaseSettings | undefined {
  const file = url.slice(scheme.length).replace(/^\/\/(?=\/)/, '');
  if (file === '' || file.startsWith('//')) {
    return report('DATABASE_URL', `names no file, write ${EXAMPLES.sqlite} or sqlite:///absolute/path`);
  }
  // It would be part of the file's name: a parameter more, and the gateway begins with an empty database.
  if (file.includes('?')) return report('DATABASE_URL', `has parameters, write ${EXAMPLES.sqlite}`);
  return { driver: 'sqlite', file, setBy: 'DATABASE_URL' };
}

function fromDsn(name: ServerVariable, text: string, report: Report): DatabaseSettings | undefined {
  const result: MysqlUrl = /^(mysql|mariadb):\/\//.test(text) ? { url: text } : mysqlUrlOf(text);
  return 'url' in result ? fromServerUrl(name, result.url, 'mysql', report) : report(name, result.problem);
}

/** The URL behind a data source name, or why it cannot be used; the reason names no part of the text. */
type MysqlUrl = { readonly url: string } | { readonly problem: string };

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
