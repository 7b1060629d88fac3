import { createHash } from 'node:crypto';
import { link, lstat, mkdir, realpath, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { addAbortSignal } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { isSystemError } from '../../base/durable-file.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import type { Ids } from '../../base/ids.ts';
import { KeyedMutex, mapLimited } from '../../base/semaphore.ts';
import type { Logger } from '../../observability/logger.ts';
import { BodyError, bodyPieces } from '../body-pieces.ts';
import { ObjectErrors, ObjectStoreStartError } from '../object-errors.ts';
import { type ObjectStore, orAborted, type StorePutOptions } from '../object-store.ts';
import type { ObjectBody, ObjectInfo, ObjectPage } from '../objects.ts';
import { beginningOf, clearFolder, type Entry, FolderTree, objectsInOrder } from './folder-tree.ts';
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
import { TEMPORARY_FOLDER, TemporaryFiles } from './temporary-files.ts';

/** What the form on disk needs. */
export interface FileStoreOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** How often a write makes its folder again that a delete has just removed as empty. */
const PLACE_ATTEMPTS = 10;

/**
 * Objects as files. Several processes may share the folder. A process that is killed leaves the old or the new object.
 * `ifAbsent` is atomic between processes (a hard link); `ifMatch` compares just before the rename, which is atomic
 * among the users of this store, while of two processes both may find the version that they expect and the later rename
 * stays.
 */
export async function openFileStore(options: FileStoreOptions): Promise<ObjectStore> {
  const { folder, clock, ids, log } = options;
  try {
    await mkdir(path.join(folder, TEMPORARY_FOLDER), { recursive: true, mode: 0o700 });
    const root = await realpath(folder);
    const temporary = new TemporaryFiles(root, ids);
    await temporary.clean(clock, log);
    return new FileStore({ tree: new FolderTree(root), temporary, clock, log });
  } catch (error) {
    const why = isSystemError(error) ? ` (${error.code})` : '';
    throw new ObjectStoreStartError(`The folder of the object store, ${folder}, cannot be used${why}`, {
      cause: error,
    });
  }
}

interface FileStoreParts {
  readonly tree: FolderTree;
  readonly temporary: TemporaryFiles;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

class FileStore implements ObjectStore {
  readonly #tree: FolderTree;
  readonly #temporary: TemporaryFiles;
  readonly #clock: Clock;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #turns = new KeyedMutex();

  constructor({ tree, temporary, clock, log }: FileStoreParts) {
    this.#tree = tree;
    this.#temporary = temporary;
    this.#clock = clock;
    this.#log = log;
  }

  async put(key: string, body: ObjectBody, options: StorePutOptions): Promise<ObjectInfo> {
    const file = this.#fileOf(key);
    try {
      return await onDisk(async () => {
        // Asked again at the end; here it saves the reading of a body that nobody wants.
        await this.#requireConditions(file, options);
        const described: { trailer?: Trailer } = {};
        const temporary = await this.#temporary.write(this.#describedPieces(body, options, described));
        try {
          options.signal?.throwIfAborted();
          await this.#turns.run(file, () => this.#place(temporary, file, options));
        } finally {
          await this.#temporary.remove(temporary);
        }
        return infoOf(key, described.trailer as Trailer);
      });
    } catch (error) {
      throw error instanceof BodyError ? error.cause : error;
    }
  }

  async get(key: string, { range, signal }: Parameters<ObjectStore['get']>[1]) {
    const file = this.#fileOf(key);
    return onDisk(async () => {
      if (!(await this.#tree.holds(path.dirname(file)))) return undefined;
      const opened = await openObjectFile(file);
      if (opened === undefined) return undefined;
      const body = await contentOf(opened, range);
      // An abort before anybody reads would end the process otherwise; readers are still told.
      body.on('error', () => {});
      if (signal !== undefined) addAbortSignal(signal, body);
      return { info: infoOf(key, opened.trailer), body };
    });
  }

  head(key: string): Promise<ObjectInfo | undefined> {
    return onDisk(async () => {
      const trailer = await this.#trailerOf(this.#fileOf(key));
      return trailer && infoOf(key, trailer);
    });
  }

  delete(key: string): Promise<boolean> {
    const file = this.#fileOf(key);
    return onDisk(async () => {
      if (!(await this.#tree.holds(path.dirname(file)))) return false;
      if ((await this.#remove(file)) === undefined) return false;
      await this.#tree.flush(path.dirname(file));
      await this.#tree.prune(path.dirname(file));
      return true;
    });
  }

  list(prefix: string, { after, limit }: Parameters<ObjectStore['list']>[1]): Promise<ObjectPage> {
    return onDisk(async () => {
      const begin = beginningOf(this.#tree.root, prefix);
      if (!(await this.#tree.holds(begin.path))) return { objects: [] };
      const entries: Entry[] = [];
      for await (const entry of objectsInOrder(begin, { prefix, after }, limit + 1)) {
        if (entries.push(entry) > limit) break;
      }
      const found = await mapLimited(entries.slice(0, limit), AT_ONCE, (entry) => this.#listed(entry));
      const objects = found.filter((info) => info !== undefined);
      return entries.length > limit ? { objects, next: entries[limit - 1]!.key.toString() } : { objects };
    });
  }

  deleteAll(prefix: string) {
    return onDisk(async () => {
      const begin = beginningOf(this.#tree.root, prefix);
      if (!(await this.#tree.holds(begin.path))) return { deleted: 0, bytes: 0 };
      const deleted = await clearFolder(begin, prefix, {
        remove: (file) => this.#remove(file),
        flush: (folder) => this.#tree.flush(folder),
      });
      await this.#tree.prune(begin.path);
      return deleted;
    });
  }

  check(signal: AbortSignal): Promise<void> {
    return orAborted(
      onDisk(() => this.#temporary.probe()),
      signal,
    );
  }

  async close(): Promise<void> {}

  #fileOf(key: string): string {
    return path.join(this.#tree.root, objectPath(key));
  }

  async #trailerOf(file: string): Promise<Trailer | undefined> {
    if (!(await this.#tree.holds(path.dirname(file)))) return undefined;
    return readObjectTrailer(file);
  }

  /** What a list says of an object. A damaged one must not stand in the way of all others. */
  async #listed({ path: file, key: bytes }: Entry): Promise<ObjectInfo | undefined> {
    const key = bytes.toString();
    try {
      // The walk came here without a link.
      const trailer = await readObjectTrailer(file);
      if (trailer === undefined) return undefined;
      const { contentType: _, ...info } = infoOf(key, trailer);
      return info;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== ObjectErrors.damaged.definition.code)
        throw error;
      this.#log.warn({ err: error, key }, 'a damaged object is left out of a list');
      return undefined;
    }
  }

  /** The pieces of a body, and behind the last one what they are. */
  async *#describedPieces(
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
    described.trailer = { size, etag: hash.digest('hex'), at: this.#clock.now(), contentType };
    yield encodeTrailer(described.trailer);
  }

  async #requireConditions(file: string, { ifAbsent, ifMatch }: StorePutOptions): Promise<void> {
    if (ifAbsent !== true && ifMatch === undefined) return;
    const trailer = await this.#trailerOf(file);
    if (ifAbsent === true && trailer !== undefined) throw ObjectErrors.exists();
    if (ifMatch !== undefined && trailer?.etag !== ifMatch) throw ObjectErrors.changed();
  }

  /** Gives a complete file its name. */
  async #place(temporary: string, file: string, options: StorePutOptions): Promise<void> {
    const folder = path.dirname(file);
    if (options.ifMatch !== undefined) await this.#requireConditions(file, options);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#tree.make(folder);
        await (options.ifAbsent === true ? link(temporary, file) : rename(temporary, file));
        return await this.#tree.flush(folder);
      } catch (error) {
        if (options.ifAbsent === true && isSystemError(error, 'EEXIST')) throw ObjectErrors.exists();
        // A recursive mkdir tells of a folder that vanished under it as ENOENT or as ENOTDIR.
        if (!isSystemError(error, 'ENOENT', 'ENOTDIR') || attempt === PLACE_ATTEMPTS) throw error;
      }
    }
  }

  /** Deletes a file and returns the bytes of its content; `undefined` when it is gone already. */
  #remove(file: string): Promise<number | undefined> {
    return this.#turns.run(file, async () => {
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
}

function infoOf(key: string, { size, etag, at, contentType }: Trailer): ObjectInfo {
  return { key, size, modifiedAt: new Date(at), etag, contentType };
}
