import { createHash } from 'node:crypto';
import { link, lstat, realpath, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { addAbortSignal } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { orAborted } from '../../base/deadline.ts';
import { isSystemError, makeFolder } from '../../base/durable-file.ts';
import type { Ids } from '../../base/ids.ts';
import { KeyedMutex, mapLimited } from '../../base/semaphore.ts';
import type { Logger } from '../../observability/logger.ts';
import { BodyError, bodyPieces } from '../body-pieces.ts';
import { ObjectErrors, ObjectStoreStartError } from '../object-errors.ts';
import type { ObjectStore, StorePutOptions } from '../object-store.ts';
import type { ObjectBody, ObjectInfo, ObjectPage } from '../objects.ts';
import { beginningOf, clearFolder, createFolderTree, type Entry, objectsInOrder } from './folder-tree.ts';
import { objectPath } from './key-path.ts';
import {
  AT_ONCE,
  contentOf,
  encodeTrailer,
  onDisk,
  openObjectFile,
  readObjectTrailer,
  TRAILER_BYTES,
  type Trailer,
} from './object-file.ts';
import { ABANDONED_MS, createTemporaryFiles, TEMPORARY_FOLDER } from './temporary-files.ts';

/** What the form on disk needs. */
export interface FileStoreOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Milliseconds until what a crash just before this start has left is old enough to be deleted. */
const CLEAN_AGAIN_MS = ABANDONED_MS + 60_000;
/** How often a write makes its folder again that a delete has just removed as empty. */
const PLACE_ATTEMPTS = 10;

/**
 * Objects as files. Several processes may share the folder. A process that is killed leaves the old or the new object.
 * `ifAbsent` is atomic between processes (a hard link); `ifMatch` compares just before the rename, which is atomic
 * among the users of this store, while of two processes both may find the version that they expect and the later rename
 * stays.
 */
export async function openFileStore({ folder, clock, ids, log }: FileStoreOptions): Promise<ObjectStore> {
  try {
    makeFolder(path.join(folder, TEMPORARY_FOLDER));
    const root = await realpath(folder);
    const temporary = createTemporaryFiles(root, ids);
    await temporary.clean(clock, log);
    return createFileStore(root, temporary, clock, log);
  } catch (error) {
    const why = isSystemError(error) ? ` (${error.code})` : '';
    throw new ObjectStoreStartError(
      `The folder of the object store, ${folder}, cannot be used${why}: OBJECT_STORE_URL names another one`,
      { cause: error },
    );
  }
}

function createFileStore(
  root: string,
  temporaryFiles: ReturnType<typeof createTemporaryFiles>,
  clock: Clock,
  log: Pick<Logger, 'info' | 'warn'>,
): ObjectStore {
  const tree = createFolderTree(root);
  const turns = new KeyedMutex();
  const cleanAgain = setTimeout(() => {
    temporaryFiles
      .clean(clock, log)
      .catch((err: unknown) =>
        log.warn({ err }, 'unfinished objects that a crash has left could not be deleted'),
      );
  }, CLEAN_AGAIN_MS).unref();

  function fileOf(key: string): string {
    return path.join(root, objectPath(key));
  }

  async function trailerOf(file: string): Promise<Trailer | undefined> {
    if (!(await tree.holds(path.dirname(file)))) return undefined;
    return readObjectTrailer(file);
  }

  /** What a list says of an object. A damaged one must not stand in the way of all others. */
  async function listed({ path: file, key: bytes }: Entry): Promise<ObjectInfo | undefined> {
    const key = bytes.toString();
    try {
      // The walk came here without a link.
      const trailer = await readObjectTrailer(file);
      if (trailer === undefined) return undefined;
      const { contentType: _, ...info } = infoOf(key, trailer);
      return info;
    } catch (error) {
      if (!ObjectErrors.damaged.is(error)) throw error;
      log.warn({ err: error, object: key }, 'a damaged object is left out of a list');
      return undefined;
    }
  }

  /** The pieces of a body, and behind the last one what they are. */
  async function* describedPieces(
    body: ObjectBody,
    { contentType, ...limits }: StorePutOptions,
    described: { trailer?: Trailer },
  ): AsyncGenerator<Buffer, void> {
    const hash = createHash('sha256');
    let size = 0;
    for await (const piece of bodyPieces(body, limits)) {
      size += piece.length;
      hash.update(piece);
      yield piece;
    }
    described.trailer = { size, etag: hash.digest('hex'), at: clock.now(), contentType };
    yield encodeTrailer(described.trailer);
  }

  async function requireConditions(file: string, { ifAbsent, ifMatch }: StorePutOptions): Promise<void> {
    if (ifAbsent !== true && ifMatch === undefined) return;
    const trailer = await trailerOf(file);
    if (ifAbsent === true && trailer !== undefined) throw ObjectErrors.exists();
    if (ifMatch !== undefined && trailer?.etag !== ifMatch) throw ObjectErrors.changed();
  }

  /** Gives a complete file its name. */
  async function place(temporary: string, file: string, options: StorePutOptions): Promise<void> {
    const folder = path.dirname(file);
    if (options.ifMatch !== undefined) await requireConditions(file, options);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await tree.make(folder);
        await (options.ifAbsent === true ? link(temporary, file) : rename(temporary, file));
        return await tree.flush(folder);
      } catch (error) {
        if (options.ifAbsent === true && isSystemError(error, 'EEXIST')) throw ObjectErrors.exists();
        // A recursive mkdir reports a folder that vanished under it as ENOENT or as ENOTDIR.
        if (!isSystemError(error, 'ENOENT', 'ENOTDIR') || attempt === PLACE_ATTEMPTS) throw error;
      }
    }
  }

  /** Deletes a file and returns the bytes of its content; `undefined` when it is gone already. */
  function remove(file: string): Promise<number | undefined> {
    return turns.run(file, async () => {
      try {
        const { size } = await lstat(file);
        await unlink(file);
        return Math.max(size - TRAILER_BYTES, 0);
      } catch (error) {
        if (isSystemError(error, 'ENOENT')) return undefined;
        throw error;
      }
    });
  }

  return {
    async put(key: string, body: ObjectBody, options: StorePutOptions): Promise<ObjectInfo> {
      const file = fileOf(key);
      try {
        return await onDisk(async () => {
          // Asked again at the end; here it saves the reading of a body that would be refused.
          await requireConditions(file, options);
          const described: { trailer?: Trailer } = {};
          const temporary = await temporaryFiles.write(describedPieces(body, options, described));
          try {
            options.signal?.throwIfAborted();
            await turns.run(file, () => place(temporary, file, options));
          } finally {
            await temporaryFiles.remove(temporary);
          }
          return infoOf(key, described.trailer as Trailer);
        });
      } catch (error) {
        throw error instanceof BodyError ? error.cause : error;
      }
    },

    async get(key: string, { range, signal }: Parameters<ObjectStore['get']>[1]) {
      const file = fileOf(key);
      return onDisk(async () => {
        if (!(await tree.holds(path.dirname(file)))) return undefined;
        const opened = await openObjectFile(file);
        if (opened === undefined) return undefined;
        const body = await contentOf(opened, range);
        // Without a listener an abort before the first read would end the process; readers still get the error.
        body.on('error', () => {});
        if (signal !== undefined) addAbortSignal(signal, body);
        return { info: infoOf(key, opened.trailer), body };
      });
    },

    head(key: string): Promise<ObjectInfo | undefined> {
      return onDisk(async () => {
        const trailer = await trailerOf(fileOf(key));
        return trailer && infoOf(key, trailer);
      });
    },

    delete(key: string): Promise<boolean> {
      const file = fileOf(key);
      return onDisk(async () => {
        if (!(await tree.holds(path.dirname(file)))) return false;
        if ((await remove(file)) === undefined) return false;
        await tree.flush(path.dirname(file));
        await tree.prune(path.dirname(file));
        return true;
      });
    },

    list(prefix: string, { after, limit }: Parameters<ObjectStore['list']>[1]): Promise<ObjectPage> {
      return onDisk(async () => {
        const begin = beginningOf(root, prefix);
        if (!(await tree.holds(begin.path))) return { objects: [] };
        const entries: Entry[] = [];
        for await (const entry of objectsInOrder(begin, { prefix, after }, limit + 1)) {
          if (entries.push(entry) > limit) break;
        }
        const found = await mapLimited(entries.slice(0, limit), AT_ONCE, (entry) => listed(entry));
        const objects = found.filter((info) => info !== undefined);
        return entries.length > limit ? { objects, next: entries[limit - 1]!.key.toString() } : { objects };
      });
    },

    deleteAll(prefix: string) {
      return onDisk(async () => {
        const begin = beginningOf(root, prefix);
        if (!(await tree.holds(begin.path))) return { deleted: 0, bytes: 0 };
        const deleted = await clearFolder(begin, prefix, {
          remove: (file) => remove(file),
          flush: (folder) => tree.flush(folder),
        });
        await tree.prune(begin.path);
        return deleted;
      });
    },

    check(signal: AbortSignal): Promise<void> {
      return orAborted(
        onDisk(() => temporaryFiles.probe()),
        signal,
      );
    },

    async close(): Promise<void> {
      clearTimeout(cleanAgain);
    },
  };
}

function infoOf(key: string, { size, etag, at, contentType }: Trailer): ObjectInfo {
  return { key, size, modifiedAt: new Date(at), etag, contentType };
}
