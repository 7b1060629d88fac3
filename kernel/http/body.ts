import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import rawBody from 'raw-body';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { GatewayError } from '../../foundation/base/gateway-error.ts';

/** Bytes of body that are read when a route says nothing else. */
export const DEFAULT_BODY_LIMIT = 1024 * 1024;

/**
 * Reads and parses a JSON body. An absent body is `undefined`.
 *
 * @throws 413 above `limit` bytes, 415 for another content type, another charset than UTF-8 or a compressed body, 400 for JSON that is malformed,
 * not UTF-8, or nested too deeply.
 */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  if (!hasBody(request)) return undefined;
  const type = mediaType(request);
  if (type !== 'application/json' && !type.endsWith('+json')) {
    throw KernelErrors.unsupportedMedia(
      `Send the body as application/json${type === '' ? '' : `, not ${type}`}`,
    );
  }
  const text = await readText(request, limit);
  if (text === '') return undefined;
  const value = parseJson(text);
  // Each level takes an opening and a closing bracket, so most bodies are too short to be deep.
  if (text.length > 2 * MAX_DEPTH && isDeeperThan(value, MAX_DEPTH)) {
    throw KernelErrors.malformedBody(`The body is nested more than ${MAX_DEPTH} levels deep`);
  }
  return value;
}

/** JSON is parsed at any depth, but whatever goes through it again, `JSON.stringify` first of all, runs out of stack. */
const MAX_DEPTH = 256;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw KernelErrors.malformedBody('The body is not well-formed JSON', { cause });
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const members = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => isDeeperThan(member, levels - 1));
}

/**
 * Reads a text body (`text/plain`, `text/markdown` …). An absent body is the empty string.
 *
 * @throws 413 above `limit` bytes, 415 for another content type, another charset than UTF-8 or a compressed body, 400 for what is not UTF-8.
 */
export async function readPlainText(request: IncomingMessage, limit: number): Promise<string> {
  if (!hasBody(request)) return '';
  const type = mediaType(request);
  if (!type.startsWith('text/')) {
    throw KernelErrors.unsupportedMedia(`Send the body as text/plain${type === '' ? '' : `, not ${type}`}`);
  }
  return readText(request, limit);
}

/**
 * The body of a form, to be read with backpressure; nothing of it is read before.
 *
 * @throws 413 where its length is known to be above `limit` bytes, 415 for another content type and for a compressed body. Reading it throws 413 for a
 * longer one, 499 when the client is gone.
 */
export function formBody(request: IncomingMessage, limit: number): Readable {
  const type = mediaType(request);
  if (type !== 'multipart/form-data') {
    throw KernelErrors.unsupportedMedia(
      `Send the body as multipart/form-data${type === '' ? '' : `, not ${type}`}`,
    );
  }
  requireUncompressed(request);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return Readable.from(piecesOf(request, limit), { objectMode: false });
}

async function* piecesOf(request: IncomingMessage, limit: number): AsyncGenerator<Buffer, void> {
  let size = 0;
  try {
    // Destroying the request would take the connection away that the refusal has to be sent on.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      size += piece.length;
      if (size > limit) throw tooLarge(limit);
      yield piece;
    }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : KernelErrors.clientClosed(undefined, { cause });
  }
}

async function readText(request: IncomingMessage, limit: number): Promise<string> {
  requireUncompressed(request);
  requireUtf8(request);
  return decode(await readBytes(request, limit));
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  try {
    return await rawBody(request, { limit, length: request.headers['content-length'] });
  } catch (cause) {
    throw readFailure(cause, limit);
  }
}

function requireUncompressed(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return;
  throw KernelErrors.unsupportedMedia('A compressed body is not accepted: send it without Content-Encoding', {
    headers: { 'accept-encoding': 'identity' },
  });
}

const CHARSET = /;\s*charset="?([^\s;"]+)/i;
const UTF8_NAMES: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

function requireUtf8(request: IncomingMessage): void {
  const charset = CHARSET.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset === undefined || UTF8_NAMES.has(charset.toLowerCase())) return;
  throw KernelErrors.unsupportedMedia('The body has another charset than UTF-8: send it in UTF-8');
}

/** Never guesses: characters that were replaced would be stored as if the client had sent them. */
function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw KernelErrors.malformedBody('The body is not well-formed UTF-8', { cause });
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function readFailure(cause: unknown, limit: number): Error {
  const type = (cause as { type?: string }).type;
  if (type === 'entity.too.large') return tooLarge(limit);
  if (type === 'request.aborted') return KernelErrors.clientClosed(undefined, { cause });
  if (type === 'request.size.invalid') {
    return KernelErrors.malformedBody('The body is shorter or longer than its Content-Length', { cause });
  }
  return KernelErrors.malformedBody(undefined, { cause });
}

/** What is left of the body is not read, so the connection cannot carry another request. */
function tooLarge(limit: number): GatewayError {
  return KernelErrors.bodyTooLarge(`The body may hold ${limit} bytes at most`, {
    headers: { connection: 'close' },
  });
}

function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function mediaType(request: IncomingMessage): string {
  const header = request.headers['content-type'] ?? '';
  const end = header.indexOf(';');
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** The query as an object: a repeated name gives a list. Prototype names are ordinary names. */
export function queryObject(url: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  const start = url.indexOf('?');
  if (start < 0) return query;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const earlier = query[name];
    if (earlier === undefined) query[name] = value;
    else if (Array.isArray(earlier)) earlier.push(value);
    else query[name] = [earlier, value];
  }
  return query;
}
