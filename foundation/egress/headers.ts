import { isSecretName } from '../observability/redact-fields.ts';
import { EgressErrors } from './errors.ts';

/** Header fields by name; a list is sent as so many fields. */
export type EgressHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Header fields as they are sent and received. */
export type HeaderFields = Readonly<Record<string, string | string[]>>;

/** Fields that belong to one connection (RFC 9110, 7.6.1), in addition to those that `Connection` names. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Fields that the client makes itself. */
const OF_THE_CLIENT: ReadonlySet<string> = new Set(['content-length', 'expect']);
const OF_THE_BODY: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
]);
/** In addition to the names that the logs redact: what servers take for the right to do something. */
const CREDENTIAL = /auth|cookie|credential|key|secret|session|signature|token/;

const MAX_FIELDS = 128;
const MAX_CHARACTERS = 32_768;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** No line feed ends a field early, and nothing needs an encoding that the other side has to guess. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const DEFAULTS: HeaderFields = {
  accept: '*/*',
  'accept-encoding': 'gzip, br',
  'user-agent': 'agent-gateway',
};

/**
 * The fields of a request as they are sent: lower-case names, `accept`, `accept-encoding` and `user-agent` added where
 * missing, fields of the connection left out.
 *
 * @throws EgressErrors.malformed naming a field that cannot be sent, never its value; also for `host`, which decides
 * whose certificate is asked for and comes from the URL
 */
export function requestHeaders(given: EgressHeaders): HeaderFields {
  const fields: Record<string, string | string[]> = { ...DEFAULTS };
  const entries = Object.entries(given);
  let characters = 0;
  for (const [spelling, value] of entries) {
    if (value === undefined) continue;
    const name = spelling.toLowerCase();
    const values = [value].flat();
    if (!TOKEN.test(name)) throw EgressErrors.malformed('The name of a header is not valid.');
    if (name === 'host')
      throw EgressErrors.malformed('The header host comes from the URL and cannot be set.');
    if (!values.every((one) => typeof one === 'string' && VALUE.test(one))) {
      throw EgressErrors.malformed(`The value of the header ${name} is not valid.`);
    }
    characters += values.reduce((sum, one) => sum + name.length + one.length, 0);
    fields[name] = typeof value === 'string' ? value : values;
  }
  if (entries.length > MAX_FIELDS || characters > MAX_CHARACTERS) {
    const bounds = `${MAX_FIELDS} fields and ${MAX_CHARACTERS} characters`;
    throw EgressErrors.malformed(`The headers are longer than ${bounds}.`);
  }
  return without(endToEnd(fields), (name) => OF_THE_CLIENT.has(name));
}

/** Without the fields of the connection, those included that `Connection` names. */
export function endToEnd(fields: Readonly<Record<string, string | string[] | undefined>>): HeaderFields {
  const named = new Set(
    [fields.connection ?? []].flat().flatMap((value) => value.toLowerCase().split(/\s*,\s*/)),
  );
  return without(fields, (name) => OF_THE_CONNECTION.has(name) || named.has(name));
}

/** For another origin: without everything whose name says that it is a credential. */
export function withoutCredentials(fields: HeaderFields): HeaderFields {
  return without(fields, (name) => CREDENTIAL.test(name) || isSecretName(name));
}

/** For a request whose body was dropped. */
export function withoutBodyFields(fields: HeaderFields): HeaderFields {
  return without(fields, (name) => OF_THE_BODY.has(name));
}

function without(
  fields: Readonly<Record<string, string | string[] | undefined>>,
  isLeftOut: (name: string) => boolean,
): HeaderFields {
  const kept = Object.entries(fields).filter(([name, value]) => value !== undefined && !isLeftOut(name));
  return Object.fromEntries(kept) as HeaderFields;
}
