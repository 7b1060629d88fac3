import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Clock, createSharedCache, type Logger, throttledLog } from 'agent-gateway';
import type { Coding } from './content-coding.ts';
import { isSettled, keyOf, splitKey, tagOfBytes } from './digests.ts';
import { type Folder, isUnchanged, type OpenFile } from './folder.ts';

/** Bytes between which compressing a file is worth it. A larger file should be compressed by its build. */
const SMALLEST = 1024;
const LARGEST = 2 * 1024 * 1024;
const MAX_FILES = 1_000;
/** Files that are compressed at one time: each takes a thread and some megabytes. */
const MAX_AT_ONCE = 4;

/** A file made smaller. */
export interface PackedFile {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Files that are compressed when they are first asked for; all together hold 16 MiB. */
export interface PackedFiles {
  /**
   * `undefined` where compression is not worth it or not possible now, or the file was replaced meanwhile: the file is
   * then sent uncompressed.
   */
  of(file: OpenFile, coding: Coding): Promise<PackedFile | undefined>;
}

const brotli = promisify(brotliCompress);
const deflate = promisify(gzip);

const PACK: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) =>
    brotli(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => deflate(bytes, { level: 6 }),
};

/** Makes an empty store. */
export function createPackedFiles(folder: Folder, clock: Clock, log: Logger): PackedFiles {
  const warn = throttledLog(clock, (err: unknown, times) =>
    log.warn({ err, times }, 'a page could not be compressed; it is sent as it is'),
  );
  const kept = createSharedCache<PackedFile | undefined>({
    clock,
    load: async (key) => {
      const [coding, rest] = splitKey(key) as [Coding, string];
      const [identity, name] = splitKey(rest);
      await using file = await folder.open(name);
      if (file?.identity !== identity) return undefined;
      const content = Buffer.alloc(file.size);
      const { bytesRead } = await file.handle.read({ buffer: content, position: 0 });
      if (bytesRead !== file.size || !(await isUnchanged(file))) return undefined;
      const bytes = await PACK[coding](content);
      return bytes.length < file.size ? { bytes, etag: tagOfBytes(bytes) } : undefined;
    },
    maxAge: Number.POSITIVE_INFINITY,
    maxEntries: MAX_FILES,
    maxLoads: MAX_AT_ONCE,
    weigh: ({ bytes }) => bytes.length,
  });

  return {
    async of(file, coding) {
      if (file.size < SMALLEST || file.size > LARGEST || !isSettled(file, clock)) return undefined;
      try {
        return await kept.get(`${coding} ${keyOf(file)}`);
      } catch (failure) {
        warn(failure);
        return undefined;
      }
    },
  };
}
