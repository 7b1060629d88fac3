import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { isSystemError } from '../../base/durable-file.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { ByteRange } from '../objects.ts';
import { decodeTrailer, TRAILER_BYTES, type Trailer } from './trailer.ts';

/** An open object: its bytes stay what they are, also when the object is replaced or deleted. */
export interface ObjectFile {
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
