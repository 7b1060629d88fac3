import { mapLimited } from '../../base/semaphore.ts';
import type { Deleted } from '../objects.ts';
import { AT_ONCE } from './file-limits.ts';
import { removeEmpty } from './folder-tree.ts';
import { type Entry, entriesOf } from './walk.ts';

/** Files that are collected before they are deleted. */
const BATCH = 256;

/** How often a folder is looked through again for what the file system did not show while files were deleted. */
const MAX_PASSES = 10;

/** How objects are deleted. */
export interface Removal {
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
  for await (const entry of entriesOf(folder, { prefix })) {
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
