import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { KernelErrors } from '../base/error-catalogue.ts';
import { type FieldError, GatewayError } from '../base/gateway-error.ts';
import { jsonExtent } from '../base/json-extent.ts';
import { pointerSegment } from '../base/json-pointer.ts';
import { awaitsContinue, declaredLength, REFUSED } from './early-answers.ts';

/** A request whose body is read; its client may wait for `100 Continue` before it sends it. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: Pick<ServerResponse, 'writeContinue'>;
  /** The whole body, where it was read before. */
  readonly bytes?: Promise<Buffer> | undefined;
  /** Counts a large body; see `BodyBudget`. */
  readonly room?: {
    check(bytes: number): void;
    take(bytes: number): void;
  };
}

/** Bytes of a body that are not counted: almost every request has less. */
const UNCOUNTED = 64 * 1024;

/** Bytes of body that are read when a route says nothing else. */
export const DEFAULT_BODY_LIMIT = 1024 * 1024;

/** The content type of each kind of body that a route may take. */
export const BODY_TYPES = {
  json: 'application/json',
  text: 'text/plain',
  form: 'multipart/form-data',
  raw: '*/*',
} as const;

/**
 * Reads and parses a JSON body. One that is absent or empty is `undefined`.
 *
 * @throws 413 above `limit` bytes and for JSON of too many parts, 415 for another content type, another charset than
 * UTF-8 or a compressed body, 400 for JSON that is malformed, not UTF-8, or nested too deeply, or has a number that is
 * too large.
 */
export async function readJson(exchange: Exchange, limit: number): Promise<unknown> {
  const text = await readText(exchange, limit, 'json');
  if (text === undefined) return undefined;
  checkExtent(text);
  const value = parseJson(text);
  const errors = MAY_BE_INFINITE.test(text) ? infiniteIn(value, '/body', []) : [];
  if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
  return value;
}

/** What a number that is larger than any other looks like: an exponent of three digits, or more digits than one has. */
const MAY_BE_INFINITE = /\d[eE]\+?\d{3}|(?<!\d)\d{309}/;

/** Problems that are reported at most. */
const MAX_INFINITE = 20;

/**
 * JavaScript makes Infinity of a number that is too large, and `null` of that when it is sent on: it would be changed
 * unseen.
 */
function infiniteIn(value: unknown, pointer: string, found: FieldError[]): readonly FieldError[] {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    found.push({ pointer, message: 'is a number that is too large' });
  if (typeof value !== 'object' || value === null) return found;
  for (const [name, member] of Object.entries(value)) {
    if (found.length >= MAX_INFINITE) break;
    infiniteIn(member, `${pointer}/${pointerSegment(name)}`, found);
  }
  return found;
}

/**
 * JSON is parsed at any depth, but code that goes through it again, `JSON.stringify` first of all, runs out of stack.
 */
const MAX_DEPTH = 256;

/** Parts of a body at most: one of 16 MiB with nothing else in it would occupy the process for many seconds. */
const MAX_PARTS = 262_144;

/** Before the body is parsed: by then it would have cost what it may not cost. */
function checkExtent(text: string): void {
  // Each level takes an opening and a closing bracket, so most bodies are too short to be deep.
  if (text.length <= 2 * MAX_DEPTH) return;
  const { levels, parts } = jsonExtent(text);
  if (levels > MAX_DEPTH)
    throw KernelErrors.malformedBody(`The body is nested more than ${MAX_DEPTH} levels deep`);
  if (parts > MAX_PARTS && text.length > DEFAULT_BODY_LIMIT)
    throw KernelErrors.bodyTooLarge(`The body has more than ${MAX_PARTS} members and items`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw KernelErrors.malformedBody('The body is not well-formed JSON', { cause });
  }
}

/**
 * Reads a text body (`text/plain`, `text/markdown` …). One that is absent or empty is `undefined`.
 *
 * @throws 413 above `limit` bytes, 415 for another content type, another charset than UTF-8 or a compressed body, 400
 * for what is not UTF-8.
 */
export function readPlainText(exchange: Exchange, limit: number): Promise<string | undefined> {
  return readText(exchange, limit, 'text');
}

/**
 * The bytes of a body as they came, whatever its type. One that is absent or empty is `undefined`.
 *
 * @throws 413 above `limit` bytes, 499 when the client is gone
 */
export async function readRaw(exchange: Exchange, limit: number): Promise<Buffer | undefined> {
  if (!hasBody(exchange.req)) return undefined;
  const bytes = await readBytes(exchange, limit);
  return bytes.length === 0 ? undefined : bytes;
}

/**
 * Bounds a body that other code reads. Rejects with 413 when it is longer than `limit` bytes, of which the reader gets
 * no more then; never resolves.
 *
 * @throws 413 where its length is known to be above `limit`, or so much of it has come already
 */
export function boundBody(request: IncomingMessage, limit: number): Promise<never> {
  const declared = declaredLength(request);
  if (declared > limit && declared !== Number.POSITIVE_INFINITY) throw tooLarge(limit);
  // What came while it was found out who is calling.
  let size = request.readableLength;
  if (size > limit) throw tooLarge(limit);
  const { promise, reject } = Promise.withResolvers<never>();
  const push = request.push.bind(request);
  const pushBounded: typeof push = (chunk, encoding) => {
    size += chunk?.length ?? 0;
    if (size <= limit) return push(chunk, encoding);
    reject(tooLarge(limit));
    return false;
  };
  request.push = pushBounded;
  return promise;
}

const IS_TYPE = {
  json: (type: string) => type === BODY_TYPES.json || type.endsWith('+json'),
  text: (type: string) => type.startsWith('text/'),
} as const;

async function readText(
  exchange: Exchange,
  limit: number,
  kind: keyof typeof IS_TYPE,
): Promise<string | undefined> {
  const request = exchange.req;
  if (!hasBody(request)) return undefined;
  const type = mediaType(request);
  if (!IS_TYPE[kind](type)) {
    // That a chunked body is empty shows at its end only, and clients give such a one no type.
    if (type === '' && (await readBytes(exchange, limit)).length === 0) return undefined;
    const given = type === '' ? '' : `, not ${type}`;
    throw KernelErrors.unsupportedMedia(`Send the body as ${BODY_TYPES[kind]}${given}`);
  }
  requireUncompressed(request);
  requireUtf8(request);
  return decode(await readBytes(exchange, limit)) || undefined;
}

/**
 * The body of a form, to be read with backpressure; nothing of it is read before. An absent one is `undefined`.
 *
 * @throws 413 where its length is known to be above `limit` bytes, 415 for another content type and for a compressed
 * body. Reading it throws 413 for a longer one, 499 when the client is gone.
 */
export function formBody({ req, res }: Exchange, limit: number): Readable | undefined {
  if (!hasBody(req)) return undefined;
  const type = mediaType(req);
  if (type !== BODY_TYPES.form) {
    throw KernelErrors.unsupportedMedia(
      `Send the body as ${BODY_TYPES.form}${type === '' ? '' : `, not ${type}`}`,
    );
  }
  requireUncompressed(req);
  const declared = declaredLength(req);
  if (declared > limit && declared !== Number.POSITIVE_INFINITY) throw tooLarge(limit);
  if (awaitsContinue(req)) res.writeContinue();
  return Readable.from(piecesOf(req, limit), { objectMode: false });
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

function readBytes({ req, res, bytes, room }: Exchange, limit: number): Promise<Buffer> {
  if (bytes !== undefined) return bytes;
  const declared = declaredLength(req);
  if (declared > limit && declared !== Number.POSITIVE_INFINITY) throw tooLarge(limit);
  if (declared > UNCOUNTED && declared <= limit) room?.check(declared);
  if (req.destroyed) throw KernelErrors.clientClosed();
  if (awaitsContinue(req)) res.writeContinue();
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let received = 0;
  const settle = () => {
    req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone).off(REFUSED, refuse);
  };
  const refuse = (error: Error) => {
    settle();
    req.pause();
    reject(error);
  };
  const onData = (chunk: Buffer) => {
    received += chunk.length;
    if (received > limit) {
      refuse(tooLarge(limit));
      return;
    }
    chunks.push(chunk);
    if (received <= UNCOUNTED) return;
    try {
      room?.take(chunk.length);
    } catch (full) {
      refuse(full as Error);
    }
  };
  const onEnd = () => {
    settle();
    resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, received));
  };
  const onGone = (cause?: Error) => refuse(KernelErrors.clientClosed(undefined, { cause }));
  req.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone).on(REFUSED, refuse);
  return promise;
}

function tooLarge(limit: number): Error {
  return KernelErrors.bodyTooLarge(`The body may hold ${limit} bytes at most`);
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
