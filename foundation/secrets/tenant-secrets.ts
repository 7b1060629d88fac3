import path from 'node:path';
import { OFFER_PATTERN } from '../base/offers.ts';
import { isBelow } from './secret-file.ts';
import { isStorePath, type SecretReference, STORE_KEY, STORE_PATH } from './secret-reference.ts';

/**
 * What a tenant is about to do with a secret: entries of `SVC_TENANT_SECRETS` that are bound to a tenant or a host
 * count for this one.
 */
export interface TenantSecretUse {
  readonly tenantId: string;
  /** Where the secret is sent. The code that sends it lets no redirect carry it to another host. */
  readonly url: URL;
}

const VARIABLE_ENTRY = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*\*?)$/;
const FILE_ENTRY = /^file:(.*)$/;
/** A whole reference into a store, or the beginning of some. */
const STORE_ENTRY = new RegExp(
  `^(${OFFER_PATTERN}):((?:${STORE_PATH}/?)?\\*|${STORE_PATH}(?:#(?:${STORE_KEY}|\\*))?)$`,
);

/**
 * True for an entry of `SVC_TENANT_SECRETS`: the name of a variable (`ACME_KEY`, also `env:ACME_KEY`) or the beginning
 * of names (`ACME_*`); a file in the secrets folder (`file:acme/key`) or the beginning of paths (`file:tenants/*`).
 * `file:*` is the whole folder; a secret of a plugin's store (`plugin/acme/vault:team/slack`, with all its keys,
 * `…#token`) or the beginning of paths (`plugin/acme/vault:tenants/*`). There is no entry for all variables. In front
 * may stand what it is bound to: `<tenant id>@<host>=ACME_KEY`, with `*` for any tenant or any host.
 */
export function isTenantSecretsEntry(entry: string): boolean {
  return entryOf(entry) !== undefined;
}

/**
 * Reads `SVC_TENANT_SECRETS`; the returned function says why a tenant may not use a reference so, or undefined where it
 * may. No tenant learns what is bound to another one. It looks at nothing but texts.
 *
 * @throws TypeError naming an entry that is none.
 */
export function tenantSecrets(
  entries: readonly string[],
): (reference: SecretReference, use?: TenantSecretUse) => string | undefined {
  const read = entries.map((text) => {
    const entry = entryOf(text);
    if (entry === undefined)
      throw new TypeError(`"${text}" names no variable, no file and no secret of a store for tenants`);
    return entry;
  });
  return (reference, use) => {
    const named = read.filter(
      ({ names, tenantId }) => names(reference) && (tenantId === undefined || tenantId === use?.tenantId),
    );
    if (named.length === 0) return 'is not among what this tenant may name';
    if (named.some(({ host }) => host === undefined || (use !== undefined && isAt(use.url, host))))
      return undefined;
    const hosts = [...new Set(named.map(({ host }) => host))].join(', ');
    return `may be sent to ${hosts} alone${use === undefined ? '' : `, not to ${use.url.host}`}`;
  };
}

/** One entry: which references it names, and what it is bound to. */
interface TenantSecretsEntry {
  readonly names: Matcher;
  readonly tenantId: string | undefined;
  readonly host: string | undefined;
}

/**
 * Before `=`: a tenant and a host. No unbound entry looks like it, since no variable has an `@` and a file begins with
 * `file:`.
 */
const BOUND = /^(\*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@(\*|[^@=\s/?#]+)=(.+)$/;

function entryOf(entry: string): TenantSecretsEntry | undefined {
  const [, tenant = '*', host = '*', reference = entry] = BOUND.exec(entry) ?? [];
  const names = matcherOf(reference);
  if (names === undefined || (host !== '*' && !isHost(host))) return undefined;
  return {
    names,
    tenantId: tenant === '*' ? undefined : tenant,
    host: host === '*' ? undefined : host.toLowerCase(),
  };
}

/** A host, with a port unless it is that of the scheme. */
function isHost(host: string): boolean {
  const url = URL.parse(`https://${host}`);
  return url !== null && (url.host === host.toLowerCase() || `${url.hostname}:443` === host.toLowerCase());
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** True where a request to the URL goes to this host: without a port to that of the URL's scheme. */
function isAt({ protocol, hostname, port }: URL, host: string): boolean {
  const usual = DEFAULT_PORTS[protocol] ?? '';
  return host === `${hostname}:${port || usual}` || (host === hostname && (port || usual) === usual);
}

type Matcher = (reference: SecretReference) => boolean;

function matcherOf(entry: string): Matcher | undefined {
  const variable = VARIABLE_ENTRY.exec(entry)?.[1];
  if (variable !== undefined) {
    const matches = nameMatcher(variable);
    return (reference) => reference.kind === 'env' && matches(reference.name);
  }
  const store = storeMatcher(entry);
  if (store !== undefined) return store;
  const file = FILE_ENTRY.exec(entry)?.[1];
  if (file === undefined || !isBelow(file) || path.posix.normalize(file) !== file) return undefined;
  const matches = nameMatcher(file);
  return (reference) => {
    if (reference.kind !== 'file') return false;
    const normal = path.posix.normalize(reference.path);
    return isBelow(normal) && matches(normal);
  };
}

function nameMatcher(entry: string): (name: string) => boolean {
  if (!entry.endsWith('*')) return (name) => name === entry;
  const beginning = entry.slice(0, -1);
  return (name) => name.startsWith(beginning);
}

function storeMatcher(entry: string): Matcher | undefined {
  const [, store, named = ''] = STORE_ENTRY.exec(entry) ?? [];
  if (store === undefined || !isStorePath(named)) return undefined;
  const matches = nameMatcher(named);
  return (reference) => {
    if (reference.kind !== 'store' || reference.store !== store) return false;
    return matches(reference.path) || matches(`${reference.path}#${reference.key ?? ''}`);
  };
}
