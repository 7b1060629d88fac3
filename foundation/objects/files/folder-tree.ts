import { mkdir, realpath, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { flushFolder, ignoreMissing, isSystemError } from '../../base/durable-file.ts';
import { ObjectErrors } from '../object-errors.ts';

/** How many folders are remembered as durable; forgetting one costs some flushes. */
const REMEMBERED = 10_000;

/**
 * The folders below the store's own. None of them may be a symbolic link: what it points to need not be the store's.
 */
export class FolderTree {
  readonly root: string;
  readonly #durable = new LRUCache<string, true>({ max: REMEMBERED });

  /** `root` must be a real path: absolute, without symbolic links. */
  constructor(root: string) {
    this.root = root;
  }

  /**
   * True when the folder is there and lies where its path says. Throws `objects.unavailable` when a symbolic link is on
   * the way. Somebody who may write to the store's folder can still put one there afterwards; he can also write to the
   * objects.
   */
  async holds(folder: string): Promise<boolean> {
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

  /** Makes the folder and those above it, and when it resolves they outlive a power failure. */
  async make(folder: string): Promise<void> {
    const created = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (!(await this.holds(folder))) throw Object.assign(new Error(`${folder} has gone`), { code: 'ENOENT' });
    if (created === undefined && this.#durable.has(folder)) return;
    // Also where it was there: whoever has made it may not have come to this.
    for (let each = folder; each !== this.root; each = path.dirname(each))
      await flushFolder(path.dirname(each));
    this.#durable.set(folder, true);
  }

  /** Makes what was renamed into the folder or deleted from it durable. A folder that has gone has nothing to keep. */
  async flush(folder: string): Promise<void> {
    await flushFolder(folder).catch(ignoreMissing);
  }

  /** Removes the folder and those above it as long as they are empty. */
  async prune(folder: string): Promise<void> {
    for (let each = folder; each !== this.root; each = path.dirname(each)) {
      if (!(await removeEmpty(each))) return;
    }
  }
}

/** Removes a folder if it is empty, and says whether it did. */
export async function removeEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) return false;
    throw error;
  }
}
