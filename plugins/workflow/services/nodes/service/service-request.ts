import type { Json, JsonObject } from '../../../contract/graph.ts';
import { StepFailure } from '../../../contract/node-types.ts';
import { SERVICE_METHODS, serviceMethod } from '../../graph/builtin-config.ts';
import { serviceHeaders } from './service-headers.ts';

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
 * Makes a request of a filled-in configuration (decisions 2.6): GET, or POST when there is a body, unless the configuration says otherwise; the body as
 * JSON, or as it is where it is text and the content type is not JSON. Throws `bad_url`, `bad_method`, `bad_header`, all final. Pure.
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
