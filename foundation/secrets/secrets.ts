import path from 'node:path';
import { DeadlineError, within } from '../base/deadline.ts';
import type { Environment } from '../config/read-config.ts';
import { isBelow, readSecretFile, SecretErrors, type SecretFile } from './secret-file.ts';

/**
 * Who wrote a reference. `operator`: files of the deployment, and the default tenant. `tenant`: any other tenant,
 * through the API.
 */
export type SecretOrigin = 'operator' | 'tenant';

/** What a tenant is about to do with a secret: entries of `SVC_TENANT_SECRETS` that are bound to a tenant or a host count for this one. */
export interface TenantSecretUse {
  readonly tenantId: string;
  /** Where the secret is sent. Whoever sends it lets no redirect carry it to another host. */
  readonly url: URL;
}

/** Secrets behind references. Whoever stores something stores the reference, and asks when the secret is needed. */
export interface Secrets {
  /**
   * The value now; nothing is kept. `env:NAME` is a variable of the process, `file:PATH` a file, relative to the secrets
   * folder unless absolute, without the line break at its end. The operator may name all of them; a tenant only what
   * `SVC_TENANT_SECRETS` lists (for its use, where one is given; without one what is bound to a tenant or a host is refused), and no file outside of the secrets folder, wherever links lead.
   *
   * @throws SecretErrors.malformed for a text that is no reference; the text is not in the error.
   * @throws SecretErrors.refused for a reference that a tenant may not use, whether there is something behind it or not.
   * @throws SecretErrors.notFound for a variable or file that does not exist or is empty.
   * @throws SecretErrors.unusable for what is no regular file of up to 64 KiB of UTF-8 text.
   * @throws SecretErrors.unreadable when the system does not let the file be read, or not within 5 seconds.
   */
  resolve(reference: string, from: SecretOrigin | TenantSecretUse): Promise<string>;
}

/** What secrets are made from. */
export interface SecretsOptions {
  readonly env: Environment;
  /** `SVC_SECRETS_DIR`. It need not exist. */
  readonly folder: string;
  /** `SVC_TENANT_SECRETS`; see `isTenantSecretsEntry`. Empty: tenants may name nothing. */
  readonly tenantMayName: readonly string[];
  /** Told of every value before it is handed out, also of one that it knows; for the redaction of logs. */
  readonly onResolved: (value: string) => void;
}

/** Milliseconds that a file may take: the folder may be on a network. */
const READ_DEADLINE = 5_000;

/** Makes the secrets of a process. @throws TypeError for a bad entry of `tenantMayName`. */
export function createSecrets(options: SecretsOptions): Secrets {
  const { env, onResolved } = options;
  const folder = path.resolve(options.folder);
  const refusalOf = tenantSecrets(options.tenantMayName);
  // A file that hangs is asked for once, however many wait for it.
  const reading = new Map<string, Promise<string>>();

  function readVariable({ name, text }: SecretReference & { kind: 'env' }): string {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined || value === '') throw SecretErrors.notFound(`${text} is not set`);
    return value;
  }

  async function readFile(
    reference: SecretReference & { kind: 'file' },
    isOperator: boolean,
  ): Promise<string> {
    const { text } = reference;
    const file: SecretFile = {
      reference: text,
      path: path.resolve(folder, reference.path),
      within: isOperator ? undefined : folder,
    };
    const key = `${isOperator ? 'operator' : 'tenant'} ${text}`;
    let read = reading.get(key);
    if (read === undefined) {
      read = readSecretFile(file).finally(() => reading.delete(key));
      reading.set(key, read);
    }
    try {
      return await within(READ_DEADLINE, `reading ${text}`, read);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw SecretErrors.unreadable(`${text} cannot be read in time`, { cause: error });
    }
  }

  return {
    async resolve(text, from) {
      const reference = parseSecretReference(text);
      const isOperator = from === 'operator';
      const refusal = isOperator ? undefined : refusalOf(reference, from === 'tenant' ? undefined : from);
      if (refusal !== undefined) throw SecretErrors.refused(`${text} ${refusal}`);
      const value =
        reference.kind === 'env' ? readVariable(reference) : await readFile(reference, isOperator);
      onResolved(value);
      return value;
    },
  };
}

/** A reference, taken apart. */
type SecretReference =
  | { readonly kind: 'env'; readonly text: string; readonly name: string }
  | { readonly kind: 'file'; readonly text: string /** As written. */; readonly path: string };

/** Longest reference, in characters. */
const MAX_LENGTH = 1_024;

const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

/** `file://` with one more slash is a URL of this machine, with anything else one of another. */
const FILE = /^file:(?!\/\/[^/])(\S|\S.*\S)$/;

/** Control characters, the zero byte that ends a path for the system among them. */
const CONTROL = /\p{Cc}/u;

/** True for a well-formed reference: `env:NAME`, `file:relative/path` or `file:/absolute/path`. Looks at nothing else. */
export function isSecretReference(text: string): boolean {
  return read(text) !== undefined;
}

/** Takes a reference apart. @throws SecretErrors.malformed without the text: it may be a secret in the wrong place. */
export function parseSecretReference(text: string): SecretReference {
  const reference = read(text);
  if (reference === undefined) {
    throw SecretErrors.malformed('A reference to a secret is written env:NAME or file:PATH');
  }
  return reference;
}

function read(text: string): SecretReference | undefined {
  if (text.length > MAX_LENGTH || CONTROL.test(text)) return undefined;
  const name = VARIABLE.exec(text)?.[1];
  if (name !== undefined) return { kind: 'env', text, name };
  const path = FILE.exec(text)?.[1];
  return path === undefined ? undefined : { kind: 'file', text, path };
}

const VARIABLE_ENTRY = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*\*?)$/;
const FILE_ENTRY = /^file:(.*)$/;

/**
 * True for an entry of `SVC_TENANT_SECRETS`: the name of a variable (`ACME_KEY`, also `env:ACME_KEY`) or the beginning of
 * names (`ACME_*`); a file in the secrets folder (`file:acme/key`) or the beginning of paths (`file:tenants/*`).
 * `file:*` is the whole folder; there is no entry for all variables. In front may stand what it is bound to: `<tenant id>@<host>=ACME_KEY`, with `*` for any tenant or any host.
 */
export function isTenantSecretsEntry(entry: string): boolean {
  return entryOf(entry) !== undefined;
}

/**
 * Reads `SVC_TENANT_SECRETS`; the returned function says why a tenant may not use a reference so, or undefined where it may. Nobody learns what is bound to another tenant. It looks at
 * nothing but texts.
 *
 * @throws TypeError naming an entry that is none.
 */
export function tenantSecrets(
  entries: readonly string[],
): (reference: SecretReference, use?: TenantSecretUse) => string | undefined {
  const read = entries.map((text) => {
    const entry = entryOf(text);
    if (entry === undefined) throw new TypeError(`"${text}" names no variable and no file for tenants`);
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

/** Before `=`: a tenant and a host. No unbound entry looks like it, since no variable has an `@` and a file begins with `file:`. */
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
