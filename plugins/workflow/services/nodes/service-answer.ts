import { type EgressResponse, isJsonObject } from 'agent-gateway';
import type { Json, JsonObject } from '../../contract/graph.ts';
import { StepFailure } from '../../contract/node-types.ts';
import { jsonFault } from '../graph/json.ts';

/** Decoded bytes of an answer at most (decisions 2.6). */
const MAX_ANSWER = 1024 * 1024;
/** Levels of JSON at most: more would exhaust the stack wherever it is looked through. */
const MAX_DEPTH = 128;
/** Bytes of a refusal that are read for its excerpt. */
const EXCERPT_BYTES = 8 * 1024;
/** Characters of it that are shown. */
const MAX_EXCERPT = 300;

/** What is a JSON MIME type by the MIME Sniffing Standard. */
const JSON_TYPE = /^(?:(?:application|text)\/json|[a-z0-9.+-]{1,80}\/[a-z0-9.+-]{1,80}\+json)$/;
const TEXTUAL =
  /^(?:text\/|application\/(?:[a-z0-9.+-]{0,80}\+)?(?:xml|yaml|x-yaml|javascript|x-ndjson|x-www-form-urlencoded|graphql)$)/;

/**
 * The body of a 2xx as a step's output (decisions 2.6): a JSON object is the output, any other JSON value and any text
 * become `{body}`, nothing at all is `{}`; what is no text is `{body, encoding: "base64", content_type}`. `hide` takes
 * secrets out of text; `bytes` counts it decoded. Throws `response_too_large`, `response_too_deep`, and what the body
 * fails with.
 */
export async function readAnswer(
  { body, headers }: EgressResponse,
  hide: (text: string) => string,
): Promise<{ readonly output: JsonObject; readonly bytes: number }> {
  const { bytes, isCut } = await readBytes(body, MAX_ANSWER);
  if (isCut) {
    throw new StepFailure(
      'response_too_large',
      `The answer is longer than ${MAX_ANSWER} bytes. Ask the service for less, a page at a time for example.`,
      { isRetryable: false },
    );
  }
  return { output: outputOf(bytes, String(headers['content-type'] ?? ''), hide), bytes: bytes.length };
}

/**
 * The beginning of a refusal, on one line, for the author of the graph; the empty text for what is none. Never rejects.
 */
export async function readExcerpt(
  { body, headers }: EgressResponse,
  hide: (text: string) => string,
): Promise<string> {
  try {
    const { bytes } = await readBytes(body, EXCERPT_BYTES);
    const { mime, charset } = contentType(String(headers['content-type'] ?? ''));
    if (mime !== '' && !JSON_TYPE.test(mime) && !TEXTUAL.test(mime)) return '';
    const text = hide(decode(bytes, charset)).replaceAll(/\s+/g, ' ').trim();
    return text.length <= MAX_EXCERPT ? text : `${text.slice(0, MAX_EXCERPT - 1).toWellFormed()}…`;
  } catch {
    // The status is enough; a connection that breaks after it changes nothing.
    return '';
  }
}

/** Reads until the end or the bound; what lies beyond the bound is not read, and the connection is closed. */
async function readBytes(body: EgressResponse['body'], most: number) {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece as Buffer);
      length += (piece as Buffer).length;
      if (length > most) break;
    }
  } finally {
    body.destroy();
  }
  return { bytes: Buffer.concat(pieces).subarray(0, most), isCut: length > most };
}

function outputOf(bytes: Buffer, type: string, hide: (text: string) => string): JsonObject {
  if (bytes.length === 0) return {};
  const { mime, charset } = contentType(type);
  if (JSON_TYPE.test(mime)) return jsonOutput(decode(bytes), hide);
  if (TEXTUAL.test(mime)) return { body: hide(decode(bytes, charset)) };
  const text = mime === '' ? decodeStrictly(bytes) : undefined;
  if (text !== undefined) return { body: hide(text) };
  return {
    body: hiddenInBytes(bytes, hide).toString('base64'),
    encoding: 'base64',
    content_type: mime === '' ? 'application/octet-stream' : mime,
  };
}

/** Secrets are taken out of what was read, not of its text: JSON has many ways to write the same character. */
function jsonOutput(text: string, hide: (text: string) => string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { body: hide(text) };
  }
  if (jsonFault(value, { depth: MAX_DEPTH }) === 'too-deep') {
    throw new StepFailure(
      'response_too_deep',
      `The JSON of the answer is nested more than ${MAX_DEPTH} levels deep.`,
      { isRetryable: false },
    );
  }
  const shown = hiddenIn(value, hide);
  return isJsonObject(shown) ? shown : { body: shown };
}

/**
 * Hides secrets in all strings and names of members. A value without any is returned unchanged. Its depth is bounded.
 */
function hiddenIn(value: Json, hide: (text: string) => string): Json {
  if (typeof value === 'string') return hide(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((member: Json) => hiddenIn(member, hide));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [hide(name), hiddenIn(member, hide)]),
  );
}

/** Of bytes that are UTF-8: anything else is left as it came. */
function hiddenInBytes(bytes: Buffer, hide: (text: string) => string): Buffer {
  const text = decodeStrictly(bytes);
  return text === undefined ? bytes : Buffer.from(hide(text));
}

function contentType(text: string): { readonly mime: string; readonly charset: string | undefined } {
  const [type = '', ...parameters] = text.slice(0, 500).split(';');
  const charset = parameters
    .map((one) => one.trim().split('='))
    .find(([name]) => name?.toLowerCase() === 'charset')?.[1];
  return { mime: type.trim().toLowerCase(), charset: charset?.replaceAll('"', '') };
}

/** By the named charset; UTF-8 where there is none, or an unknown one. */
function decode(bytes: Buffer, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Undefined for what is no UTF-8 text. */
function decodeStrictly(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
