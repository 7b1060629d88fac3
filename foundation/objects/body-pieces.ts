import type { Readable } from 'node:stream';
import { DeadlineError, orAborted, within } from '../base/deadline.ts';
import { ObjectErrors } from './object-errors.ts';
import type { ObjectBody } from './objects.ts';

/** How long a stream may give nothing. Far below the age at which an abandoned temporary file is deleted. */
const STALL_MS = 5 * 60_000;

/** Large enough to be fast, small enough that hashing a piece does not hold up the process. */
const SLICE_BYTES = 256 * 1024;

/** What to watch while a body is read. */
export interface BodyLimits {
  /** Bytes. */
  readonly limit: number;
  readonly signal?: AbortSignal;
  /** Default: five minutes. */
  readonly stallMs?: number;
}

/**
 * The stream to store failed, or the caller gave up: its own error, which `cause` holds, is no failure of the store.
 */
export class BodyError extends Error {
  override readonly name = 'BodyError';
}

/**
 * The bytes of a body, piece by piece, read only when asked for. Throws `objects.too-large` before the piece that
 * is too much, and `BodyError` when the stream fails, stops, or the signal is aborted; the stream is then destroyed.
 * When the reader stops for any other reason the stream stays as it is: destroying a request would take the
 * connection away that the refusal has to be sent on.
 */
export async function* bodyPieces(body: ObjectBody, limits: BodyLimits): AsyncGenerator<Buffer, void> {
  let size = 0;
  for await (const piece of typeof body === 'string' || body instanceof Uint8Array
    ? slicesOf(bytesOf(body), limits.signal)
    : chunksOf(body, limits)) {
    size += piece.length;
    if (size > limits.limit) throw tooLarge(limits.limit);
    yield piece;
  }
}

/** A body that is in memory, as bytes, without copying what is bytes already. */
export function bytesOf(body: string | Uint8Array): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/** The error for an object above its limit. */
export function tooLarge(limit: number) {
  return ObjectErrors.tooLarge(`The object has more than ${limit} bytes`);
}

async function* slicesOf(bytes: Buffer, signal: AbortSignal | undefined): AsyncGenerator<Buffer, void> {
  for (let start = 0; start < bytes.length || start === 0; start += SLICE_BYTES) {
    if (signal?.aborted) throw new BodyError('the caller gave up', { cause: signal.reason });
    yield bytes.subarray(start, start + SLICE_BYTES);
  }
}

async function* chunksOf(stream: Readable, limits: BodyLimits): AsyncGenerator<Buffer, void> {
  const { signal, stallMs = STALL_MS } = limits;
  const chunks = stream.iterator({ destroyOnReturn: false });
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      const next = within(stallMs, 'reading the body', chunks.next());
      const { done, value } = await (signal === undefined ? next : orAborted(next, signal));
      isWaiting = false;
      if (done === true) return;
      yield typeof value === 'string' ? Buffer.from(value) : bytesOf(value);
    }
  } catch (error) {
    stream.destroy();
    const cause = error instanceof DeadlineError ? ObjectErrors.stalled(undefined, { cause: error }) : error;
    throw new BodyError('the body cannot be read', { cause });
  } finally {
    // Takes the listeners off. An iterator that is still waiting would only answer after its stream did.
    if (!isWaiting) await chunks.return?.();
  }
}
