import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { mkdir, opendir, realpath, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { flushFolder, ignoreMissing, isSystemError } from '../../base/durable-file.ts';
import { recentMap } from '../../base/recent-map.ts';
import { mapLimited } from '../../base/semaphore.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { Deleted } from '../objects.ts';
import { decodeName, folderPath, type NameKind } from './key-path.ts';
import { AT_ONCE } from './object-file.ts';

/** How many folders are remembered as durable; forgetting one costs some flushes. */
const REMEMBERED = 10_000;

/**
 * The folders below the store's own. None of them may be a symbolic link: what it points to need not be the store's.
 */
export function createFolderTree(root: string) {
  const durable = recentMap<true>(REMEMBERED);

  /**
   * True when the folder is there and lies where its path says. Throws `objects.unavailable` when a symbolic link is on
   * the way. A user who may write to the store's folder can still put one there afterwards; such a user can also write
   * to the objects.
   */
  async function holds(folder: string): Promise<boolean> {
    let real: string;
    try {
      real = await realpath(folder);
    } catch (error) {
      if (isSystemError(error, 'ENOENT')) return false;
      throw error;
    }
    if (real === folder) return true;
    throw ObjectErrors.unavailable(undefined, {
      cause: new Error(`${folder} leads to ${real}: no links are followed`),
    });
  }

  return {
    holds,

    /** Makes the folder and those above it, and when it resolves they outlive a power failure. */
    async make(folder: string): Promise<void> {
      const created = await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!(await holds(folder))) throw Object.assign(new Error(`${folder} has gone`), { code: 'ENOENT' });
      if (created === undefined && durable.has(folder)) return;
      // Also where it was there: the process that made it may not have come to this.
      for (let each = folder; each !== root; each = path.dirname(each)) await flushFolder(path.dirname(each));
      durable.set(folder, true);
    },

    /**
     * Makes what was renamed into the folder or deleted from it durable. A folder that has gone has nothing to keep.
     */
    async flush(folder: string): Promise<void> {
      await flushFolder(folder).catch(ignoreMissing);
    },

    /** Removes the folder and those above it as long as they are empty. */
    async prune(folder: string): Promise<void> {
      for (let each = folder; each !== root; each = path.dirname(each)) {
        if (!(await removeEmpty(each))) return;
      }
    },
  };
}

/** Removes a folder if it is empty, and says whether it did. */
async function removeEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) return false;
    throw error;
  }
}

/** Which keys. */
interface KeyQuery {
  readonly prefix: string;
  /** Only keys behind this one. */
  readonly after?: string | undefined;
}

/** A name in a folder of the store. */
export interface Entry {
  readonly kind: NameKind;
  readonly path: string;
  /** The whole key of an object; what all keys in a folder begin with. */
  readonly key: Buffer;
}

/** Where a walk begins: the deepest folder that holds all keys with this prefix. */
export function beginningOf(root: string, prefix: string): Entry {
  const begin = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  return { kind: 'folder', path: path.join(root, folderPath(begin)), key: Buffer.from(begin) };
}

/**
 * The objects in the order of their keys' bytes, beginning with `beginningOf`. Of each folder the `batch` smallest
 * names are kept, and the folder is read again for the next ones: memory does not grow with the number of objects.
 * Folders that go meanwhile are empty.
 */
export async function* objectsInOrder(
  folder: Entry,
  query: KeyQuery,
  batch: number,
): AsyncGenerator<Entry, void> {
  const isWanted = filterOf(query);
  let from: Buffer | undefined;
  for (;;) {
    const entries = await smallestEntries(folder, isWanted, from, batch);
    for (const entry of entries) {
      if (entry.kind === 'object') yield entry;
      else yield* objectsInOrder(entry, query, batch);
    }
    if (entries.length < batch) return;
    from = entries.at(-1)?.key;
  }
}

/** The entries of a folder in no order. */
async function* entriesOf(folder: Entry, isWanted: (entry: Entry) => boolean): AsyncGenerator<Entry, void> {
  const isBeginning = folder.kind === 'folder';
  try {
    for await (const dirent of await opendir(folder.path, { bufferSize: 256 })) {
      const entry = entryOf(folder, dirent, isBeginning);
      if (entry !== undefined && isWanted(entry)) yield entry;
    }
  } catch (error) {
    if (!isSystemError(error, 'ENOENT')) throw error;
  }
}

/**
 * Two entries are never one the beginning of the other, but an object that stands before its folder: comparing keys is
 * enough.
 */
async function smallestEntries(
  folder: Entry,
  isWanted: (entry: Entry) => boolean,
  from: Buffer | undefined,
  count: number,
): Promise<Entry[]> {
  let smallest: Entry[] = [];
  const shrink = () => {
    smallest = smallest.sort((a, b) => Buffer.compare(a.key, b.key)).slice(0, count);
  };
  for await (const entry of entriesOf(folder, isWanted)) {
    if (from !== undefined && Buffer.compare(entry.key, from) <= 0) continue;
    smallest.push(entry);
    if (smallest.length >= 2 * count) shrink();
  }
  shrink();
  return smallest;
}

function filterOf({ prefix, after }: KeyQuery): (entry: Entry) => boolean {
  const begin = Buffer.from(prefix);
  const last = after === undefined ? undefined : Buffer.from(after);
  return ({ kind, key }) => {
    if (kind === 'object') {
      return beginsWith(key, begin) && (last === undefined || Buffer.compare(key, last) > 0);
    }
    if (!beginsWith(key, begin) && !beginsWith(begin, key)) return false;
    return last === undefined || Buffer.compare(key, last) > 0 || beginsWith(last, key);
  };
}

function beginsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.length >= beginning.length && bytes.subarray(0, beginning.length).equals(beginning);
}

function entryOf(folder: Entry, dirent: Dirent, isBeginning: boolean): Entry | undefined {
  const part = decodeName(dirent.name, isBeginning);
  if (part === undefined) return undefined;
  const isRight = part.kind === 'object' ? dirent.isFile() : dirent.isDirectory();
  const key = Buffer.concat([folder.key, part.bytes]);
  if (!isRight || (part.kind === 'object' && !isUtf8(key))) return undefined;
  return { kind: part.kind, path: path.join(folder.path, dirent.name), key };
}

/** Files that are collected before they are deleted. */
const BATCH = 256;

/** How often a folder is looked through again for what the file system did not show while files were deleted. */
const MAX_PASSES = 10;

/** How objects are deleted. */
interface Removal {
  /** Deletes one object and returns its bytes, or `undefined` when it was gone. */
  remove(file: string): Promise<number | undefined>;
  /** Makes that durable for everything in a folder. */
  flush(folder: string): Promise<void>;
}

/** Deletes the objects below `folder` whose key begins with `prefix`, and the folders that this leaves empty. */
export async function clearFolder(folder: Entry, prefix: string, removal: Removal): Promise<Deleted> {
  const total = { deleted: 0, bytes: 0 };
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const { deleted, bytes } = await clearOnce(folder, prefix, removal);
    total.deleted += deleted;
    total.bytes += bytes;
    if (deleted === 0) break;
  }
  return total;
}

async function clearOnce(folder: Entry, prefix: string, removal: Removal): Promise<Deleted> {
  let deleted = 0;
  let bytes = 0;
  let batch: string[] = [];
  const flush = async () => {
    const sizes = await mapLimited(batch, AT_ONCE, (file) => removal.remove(file));
    batch = [];
    if (sizes.length > 0) await removal.flush(folder.path);
    for (const size of sizes) {
      if (size === undefined) continue;
      deleted += 1;
      bytes += size;
    }
  };
  for await (const entry of entriesOf(folder, filterOf({ prefix }))) {
    if (entry.kind === 'object') {
      batch.push(entry.path);
      if (batch.length >= BATCH) await flush();
      continue;
    }
    const below = await clearOnce(entry, prefix, removal);
    deleted += below.deleted;
    bytes += below.bytes;
    await removeEmpty(entry.path);
  }
  await flush();
  return { deleted, bytes };
}
