import type { Json } from '../../../contract/graph.ts';
import { StepFailure } from '../../../contract/node-types.ts';
import { GATEWAY_HEADERS, isHeaderName, isHeaderValue } from '../../graph/builtin-config.ts';

/** Names of header fields are lower-case. */
export type ServiceHeaders = ReadonlyMap<string, string>;

/** The key that names an attempt is the engine's own: what a configuration says there is left out. */
const KEY = 'idempotency-key';

/** True for a header that the gateway makes. */
export function isOfTheGateway(name: string): boolean {
  return GATEWAY_HEADERS.has(name.toLowerCase()) || name.toLowerCase() === KEY;
}

/** Bounds of one request, as egress has them. */
const MAX_FIELDS = 100;
const MAX_CHARACTERS = 30_000;

/**
 * The headers of a request from a filled-in configuration: numbers and booleans as text, without those that are null. `Idempotency-Key` is left
 * out, since the engine sets it. Throws `bad_header` naming a field, never its value. Pure.
 */
export function serviceHeaders(given: Json | undefined): ServiceHeaders {
  const fields = new Map<string, string>();
  if (given === undefined || given === null || given === '') return fields;
  if (typeof given !== 'object' || Array.isArray(given)) throw badHeader('`headers` is no object.');
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
  if (fields.size > MAX_FIELDS || characters > MAX_CHARACTERS) {
    throw badHeader(`The headers are more than ${MAX_FIELDS} fields or ${MAX_CHARACTERS} characters.`);
  }
  return fields;
}

/** The value of a header, when it can be sent. Throws `bad_header`. */
export function headerValue(name: string, value: string): string {
  if (isHeaderValue(value)) return value;
  throw badHeader(
    `The value of the header ${name} holds a line break, or characters outside of ISO 8859-1, and cannot be sent.`,
  );
}

function badHeader(message: string): StepFailure {
  return new StepFailure('bad_header', message, { isRetryable: false });
}
