import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import path from 'node:path';
import { isSystemError } from '../../base/durable-file.ts';
import { decodeName, folderPath, type NameKind } from './key-path.ts';

/** Which keys. */
export interface KeyQuery {
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
  const filter = filterOf(query);
  let from: Buffer | undefined;
  for (;;) {
    const entries = await smallestEntries(folder, filter, from, batch);
    for (const entry of entries) {
      if (entry.kind === 'object') yield entry;
      else yield* objectsInOrder(entry, query, batch);
    }
    if (entries.length < batch) return;
    from = entries.at(-1)?.key;
  }
}

/** The entries of a folder in no order, those alone that hold or are keys with the prefix. */
export async function* entriesOf(folder: Entry, query: KeyQuery): AsyncGenerator<Entry, void> {
  const filter = filterOf(query);
  const isBeginning = folder.kind === 'folder';
  try {
    for await (const dirent of await opendir(folder.path, { bufferSize: 256 })) {
      const entry = entryOf(folder, dirent, isBeginning);
      if (entry !== undefined && filter(entry)) yield entry;
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
  filter: (entry: Entry) => boolean,
  from: Buffer | undefined,
  count: number,
): Promise<Entry[]> {
  let smallest: Entry[] = [];
  const shrink = () => {
    smallest = smallest.sort((a, b) => Buffer.compare(a.key, b.key)).slice(0, count);
  };
  for await (const entry of entriesOf(folder, { prefix: '' })) {
    if (!filter(entry) || (from !== undefined && Buffer.compare(entry.key, from) <= 0)) continue;
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
