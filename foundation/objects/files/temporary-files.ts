import { link, lstat, open, opendir, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { ignoreMissing, isSystemError } from '../../base/durable-file.ts';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';

/**
 * Below the store's folder, on the same file system. Tenants' folders end with a plus, so none can have this name.
 */
export const TEMPORARY_FOLDER = 'tmp';

/** A write that goes on touches its file at least every five minutes (`bodyPieces`). */
export const ABANDONED_MS = 60 * 60_000;

/** Where objects are written before they get their name. */
export function createTemporaryFiles(root: string, ids: Ids) {
  const folder = path.join(root, TEMPORARY_FOLDER);

  /** Writes everything to a new file; when it resolves the content is on the disk. Leaves nothing when it fails. */
  async function write(content: AsyncIterable<Buffer>): Promise<string> {
    const file = path.join(folder, ids.opaque());
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
      await handle.close();
    } catch (error) {
      await handle.close();
      await remove(file);
      throw error;
    }
    return file;
  }

  /** Deletes a file, if it still has its temporary name. */
  async function remove(file: string): Promise<void> {
    await unlink(file).catch(ignoreMissing);
  }

  return {
    write,

    remove,

    /** Throws unless files can be written, linked and deleted here. */
    async probe(): Promise<void> {
      const file = await write(
        (async function* () {
          yield Buffer.alloc(512, ' ');
        })(),
      );
      const other = `${file}-link`;
      try {
        await link(file, other);
      } finally {
        await remove(file);
        await remove(other);
      }
    },

    /** Deletes files that were not written to for an hour: left by processes that were killed. */
    async clean(clock: Clock, log: Pick<Logger, 'info'>): Promise<void> {
      const before = clock.now() - ABANDONED_MS;
      let files = 0;
      for await (const { name } of await opendir(folder)) {
        const file = path.join(folder, name);
        try {
          const { mtimeMs } = await lstat(file);
          if (mtimeMs >= before) continue;
          await unlink(file);
          files += 1;
        } catch (error) {
          // Another process cleans as well, or has finished its write.
          if (!isSystemError(error, 'ENOENT')) throw error;
        }
      }
      if (files > 0) log.info({ files }, 'deleted unfinished objects that a crash had left');
    },
  };
}
