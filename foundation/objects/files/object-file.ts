import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { isDiskFull, isSystemError } from '../../base/durable-file.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import { parsedJson } from '../../base/json-object.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { ByteRange } from '../objects.ts';

/** An open object: its bytes stay what they are, also when the object is replaced or deleted. */
interface ObjectFile {
  readonly handle: FileHandle;
  readonly trailer: Trailer;
}

/** Opens the file of an object; `undefined` when there is none. Throws `objects.damaged` when it is no whole object. */
export async function openObjectFile(file: string): Promise<ObjectFile | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    return { handle, trailer: await readTrailer(handle, file) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads what is known of an object. */
export async function readObjectTrailer(file: string): Promise<Trailer | undefined> {
  const opened = await openObjectFile(file);
  await opened?.handle.close();
  return opened?.trailer;
}

/**
 * The content, or a range of it; ends by closing the file. Throws `objects.range-not-satisfiable`, and then closes it
 * too.
 */
export async function contentOf(
  { handle, trailer }: ObjectFile,
  range: ByteRange | undefined,
): Promise<Readable> {
  const start = range?.start ?? 0;
  if (range !== undefined && start >= trailer.size) {
    await handle.close();
    throw ObjectErrors.rangeNotSatisfiable(`the object has ${trailer.size} bytes`);
  }
  if (trailer.size === 0) {
    await handle.close();
    return Readable.from([]);
  }
  const end = Math.min(range?.end ?? trailer.size - 1, trailer.size - 1);
  return handle.createReadStream({ start, end, highWaterMark: 64 * 1024 });
}

async function readTrailer(handle: FileHandle, file: string): Promise<Trailer> {
  const stat = await handle.stat();
  const bytes = Buffer.alloc(TRAILER_BYTES);
  if (stat.isFile() && stat.size >= TRAILER_BYTES) {
    await handle.read(bytes, 0, TRAILER_BYTES, stat.size - TRAILER_BYTES);
  }
  const trailer = decodeTrailer(bytes, stat.size);
  if (trailer !== undefined) return trailer;
  throw ObjectErrors.damaged(undefined, { cause: new Error(`${file} does not end as an object does`) });
}

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
  const value = Object(parsedJson(bytes.toString('latin1'))) as Record<string, unknown>;
  const { object, size, etag, at, contentType } = value;
  if (object !== VERSION || size !== fileSize - TRAILER_BYTES) return undefined;
  if (typeof etag !== 'string' || typeof at !== 'number' || typeof contentType !== 'string') return undefined;
  return { size, etag, at, contentType };
}

/**
 * Does `work`; failures of the operating system become `objects.full` or `objects.unavailable` with the original as
 * cause.
 */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileFailure(error);
  }
}

/** The error for callers; what is none of the operating system's stays as it is. */
export function fileFailure(error: unknown): unknown {
  if (error instanceof GatewayError || !isSystemError(error)) return error;
  return (isDiskFull(error) ? ObjectErrors.full : ObjectErrors.unavailable)(undefined, { cause: error });
}

/** How many files are worked on at one time: more do not make a disk faster, and each is an open file. */
export const AT_ONCE = 16;
