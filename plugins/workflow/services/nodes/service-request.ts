import {
  GatewayError,
  hideSecrets,
  isJsonObject,
  isSecretReference,
  REFERENCE_FORMS,
  SecretErrors,
  type Secrets,
  type TenantSecretUse,
} from 'agent-gateway';
import type { Json, JsonObject } from '../../contract/graph.ts';
import { StepFailure } from '../../contract/node-types.ts';
import {
  GATEWAY_HEADERS,
  isHeaderName,
  isHeaderValue,
  SERVICE_METHODS,
  serviceMethod,
} from '../graph/builtin-config.ts';

/** A request as it is sent, without its secrets. */
export interface ServiceRequest {
  readonly url: URL;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const MAX_URL = 8_192;
const JSON_TYPE = /^application\/(?:[a-z0-9.+-]{0,80}\+)?json\b/i;

/**
 * Makes a request of a filled-in configuration (decisions 2.6): GET, or POST when there is a body, unless the
 * configuration says otherwise; the body as JSON, or as it is where it is text and the content type is not JSON. Throws
 * `bad_url`, `bad_method`, `bad_header`, all final. Pure.
 */
export function serviceRequest(input: JsonObject, idempotencyKey: string): ServiceRequest {
  const { body } = input;
  const method = methodOf(input.method, body !== undefined);
  const fields = serviceHeaders(input.headers);
  const defaults = {
    accept: 'application/json, */*;q=0.8',
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return {
    url: urlOf(input.url),
    method,
    headers: { ...defaults, ...Object.fromEntries(fields), 'idempotency-key': idempotencyKey },
    body: body === undefined ? undefined : bodyText(body, fields.get('content-type')),
  };
}

function methodOf(given: Json | undefined, hasBody: boolean): string {
  // Empty where a reference led nowhere.
  if (given === undefined || given === null || given === '') return hasBody ? 'POST' : 'GET';
  const method = typeof given === 'string' ? serviceMethod(given) : undefined;
  if (method === undefined) {
    throw refused(
      'bad_method',
      `The method is none of ${SERVICE_METHODS.join(', ')} after its templates were filled in.`,
    );
  }
  if (hasBody && WITHOUT_BODY.has(method)) {
    throw refused('bad_method', `${method} carries no body: leave \`body\` out, or use POST.`);
  }
  return method;
}

function urlOf(given: Json | undefined): URL {
  const text = typeof given === 'string' ? given : '';
  if (text.length > MAX_URL) throw refused('bad_url', `The URL is longer than ${MAX_URL} characters.`);
  const url = URL.parse(text);
  if (url === null) {
    throw refused(
      'bad_url',
      'The URL cannot be read after its templates were filled in; it has to be absolute: https://host/path.',
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refused('bad_url', 'Only http and https URLs can be called.');
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('bad_url', 'The URL holds a user name or password; send them in a header.');
  }
  return url;
}

function bodyText(body: Json, contentType: string | undefined): string {
  const isPlain = typeof body === 'string' && contentType !== undefined && !JSON_TYPE.test(contentType);
  return isPlain ? body : JSON.stringify(body);
}

function refused(code: string, message: string): StepFailure {
  return new StepFailure(code, message, { isRetryable: false });
}

/** The engine sets the key that identifies an attempt: a value in the configuration is left out. */
const KEY = 'idempotency-key';

/** True for a header that the gateway makes. */
function isOfTheGateway(name: string): boolean {
  return GATEWAY_HEADERS.has(name.toLowerCase()) || name.toLowerCase() === KEY;
}

/** Characters of the headers of one request, fewer than egress allows. The rules of graphs bound their number. */
const MAX_CHARACTERS = 30_000;

/**
 * The headers of a request from a filled-in configuration, by lower-case names: numbers and booleans as text, without
 * those that are null. `Idempotency-Key` is left out, since the engine sets it. Throws `bad_header` naming a field,
 * never its value. Pure.
 */
function serviceHeaders(given: Json | undefined): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  if (given === undefined || given === null || given === '') return fields;
  if (!isJsonObject(given)) throw badHeader('`headers` is no object.');
  let characters = 0;
  for (const [spelling, value] of Object.entries(given)) {
    const name = spelling.toLowerCase();
    if (!isHeaderName(name)) throw badHeader('A name in `headers` is no name of a header.');
    if (GATEWAY_HEADERS.has(name)) throw badHeader(`The header ${name} cannot be set; the gateway makes it.`);
    if (name === KEY || value === null) continue;
    if (typeof value === 'object') throw badHeader(`The header ${name} is no text.`);
    fields.set(name, headerValue(name, String(value)));
    characters += name.length + String(value).length;
  }
  if (characters > MAX_CHARACTERS)
    throw badHeader(`The headers have more than ${MAX_CHARACTERS} characters.`);
  return fields;
}

/** The value of a header, when it can be sent. Throws `bad_header`. */
function headerValue(name: string, value: string): string {
  if (isHeaderValue(value)) return value;
  throw badHeader(
    `The value of the header ${name} holds a line break, or characters outside of ISO 8859-1, and cannot be sent.`,
  );
}

const badHeader = (message: string) => refused('bad_header', message);

/** Values that were resolved for one request. */
export interface ResolvedSecrets {
  readonly headers: Readonly<Record<string, string>>;
  /** Takes the values out of a text that comes back. */
  hide(text: string): string;
}

/** Failures to read a secret that may not recur: of the machine, or of a plugin's store. */
const MAY_PASS = new Set(
  [SecretErrors.unreadable, SecretErrors.storeMissing].map(({ definition }) => definition.code),
);
/** A scheme may stand in front: `Bearer env:NAME`. */
const FORM = /^(?:([A-Za-z][A-Za-z0-9_-]{0,31}) )?((?:env:|file:|plugin\/).+)$/;
/** Headers that egress treats as credentials and drops when a redirect leads to another host. */
const CREDENTIAL = /auth|cookie|credential|key|secret|session|signature|token/i;
const NAME = /^[a-z0-9_-]{1,128}$/i;

/** What is wrong with `secret_headers`, by name of the header; messages go on after the name. Pure. */
export function secretHeaderProblems(
  given: Json | undefined,
): readonly { readonly name: string; readonly message: string }[] {
  return entriesOf(given).flatMap(([name, value]) => {
    if (!NAME.test(name) || !CREDENTIAL.test(name) || isOfTheGateway(name)) {
      const message =
        'cannot hold a secret. A redirect to another host leaves out only headers with auth, cookie, credential, key, secret, session, signature or token in their name; choose such a one.';
      return [{ name, message }];
    }
    if (typeof value === 'string' && referenceIn(value) !== undefined) return [];
    return [
      {
        name,
        message: `is no reference: write ${REFERENCE_FORMS}, with a scheme and a blank in front where one is needed (Bearer).`,
      },
    ];
  });
}

/**
 * Resolves the secrets of a request. For every tenant: graphs are written by more people than the operators of the
 * deployment, so a graph may name only secrets that `SVC_TENANT_SECRETS` lists for this tenant and the host of the
 * request; no redirect carries the headers to another host. Throws `secret_refused` and `secret_unavailable`, naming
 * the reference.
 */
export async function resolveSecrets(
  secrets: Secrets,
  given: Json | undefined,
  use: TenantSecretUse,
): Promise<ResolvedSecrets> {
  const [problem] = secretHeaderProblems(given);
  if (problem !== undefined) throw badHeader(`The header ${problem.name} ${problem.message}`);
  const values: string[] = [];
  const headers: Record<string, string> = {};
  for (const [name, text] of entriesOf(given)) {
    const { scheme, reference } = referenceIn(String(text))!;
    const value = await resolve(secrets, reference, use);
    values.push(value);
    headers[name.toLowerCase()] = headerValue(name, scheme === undefined ? value : `${scheme} ${value}`);
  }
  return { headers, hide: hideSecrets(values) };
}

function referenceIn(text: string) {
  const [, scheme, reference = ''] = FORM.exec(text) ?? [];
  return isSecretReference(reference) ? { scheme, reference } : undefined;
}

async function resolve(secrets: Secrets, reference: string, use: TenantSecretUse): Promise<string> {
  try {
    return await secrets.resolve(reference, use);
  } catch (error) {
    if (SecretErrors.refused.is(error)) {
      throw new StepFailure(
        'secret_refused',
        `${error.detail}. The operator adds it to SVC_TENANT_SECRETS, if workflows may use it.`,
        { isRetryable: false, cause: error },
      );
    }
    if (!(error instanceof GatewayError)) throw error;
    throw new StepFailure('secret_unavailable', `${error.detail}. The operator has to put that right.`, {
      isRetryable: MAY_PASS.has(error.code),
      cause: error,
    });
  }
}

const entriesOf = (given: Json | undefined) => (isJsonObject(given) ? Object.entries(given) : []);
