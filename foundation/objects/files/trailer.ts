/**
 * What is known of an object stands in the last bytes of its own file, so that one rename replaces content and
 * description together. Behind the content, so that it is written in one go and positions in the content are positions
 * in the file.
 */
export interface Trailer {
  /** Bytes of content. */
  readonly size: number;
  /** SHA-256 of the content, hexadecimal. */
  readonly etag: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly contentType: string;
}

/** Bytes of every trailer: a line of JSON, filled up with spaces. A content type of 150 quotes still fits. */
export const TRAILER_BYTES = 512;

const VERSION = 1;

/** The bytes to write behind the content. */
export function encodeTrailer(trailer: Trailer): Buffer {
  const bytes = Buffer.alloc(TRAILER_BYTES, ' ');
  const line = `\n${JSON.stringify({ object: VERSION, ...trailer })}`;
  if (line.length >= TRAILER_BYTES) throw new RangeError('the description of an object is too long');
  bytes.write(line, 'latin1');
  bytes.write('\n', TRAILER_BYTES - 1);
  return bytes;
}

/**
 * Reads the last bytes of a file of `fileSize` bytes; `undefined` when they are no trailer, or not the one of this
 * file.
 */
export function decodeTrailer(bytes: Buffer, fileSize: number): Trailer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('latin1'));
  } catch {
    return undefined;
  }
  const { object, size, etag, at, contentType } = Object(value) as Record<string, unknown>;
  if (object !== VERSION || size !== fileSize - TRAILER_BYTES) return undefined;
  if (typeof etag !== 'string' || typeof at !== 'number' || typeof contentType !== 'string') return undefined;
  return { size, etag, at, contentType };
}
