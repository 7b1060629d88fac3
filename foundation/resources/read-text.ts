import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isSystemError } from '../base/durable-file.ts';

/** The text of a file, or why there is none. `isGone`: there is no such file any more. */
export type TextReading =
  | { readonly text: string }
  | { readonly problem: string }
  | { readonly isGone: true };

/** Reads a file of at most `limit` bytes, `real` being its path behind all links. Rejects for nothing that a file can be. */
export async function readText(real: string, limit: number): Promise<TextReading> {
  try {
    // Not following a link that came since the look; non-blocking, or a named pipe would wait for a writer.
    const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const status = await handle.stat();
      if (!status.isFile()) return { problem: 'is not a file' };
      if (status.size > limit) return { problem: `is larger than ${limit} bytes` };
      const buffer = Buffer.allocUnsafe(Math.min(limit, status.size) + 1);
      let length = 0;
      for (let more = 1; more > 0 && length < buffer.length; length += more) {
        more = (await handle.read(buffer, length, buffer.length - length)).bytesRead;
      }
      // It grows under our eyes: the notice of that will bring us here again.
      const bytes = buffer.subarray(0, Math.min(length, status.size));
      return decode(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return { isGone: true };
    if (isSystemError(error)) return { problem: `cannot be read (${error.code})` };
    throw error;
  }
}

function decode(bytes: Buffer): TextReading {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8' };
  }
}
