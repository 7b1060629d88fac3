import { type FSWatcher, watch } from 'node:fs';
import { readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { isSystemError } from './atomic-write.ts';

/** Watches of the folders that decide about one file. */
export interface FolderWatch {
  /** Follows the links again and watches the folders that they lead through now. Never rejects for a missing folder. */
  refresh(): Promise<void>;
  close(): void;
}

/** Folders to watch, each with the names in it that matter; undefined for all. */
export type WatchedFolders = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** What an update of a folder set came to. */
export interface WatchUpdate {
  /** Folders that were not watched before: what happened in them until now was not noticed. */
  readonly added: number;
  /** Folders that exist and cannot be watched, with the system's error code (`ENOSPC`: no inotify watches left). */
  readonly failures: ReadonlyMap<string, string>;
}

/** Watches of a set of folders that changes. */
export interface FolderSetWatch {
  /** Watches these folders and no others; a path that leads to another folder than before is watched anew. Never rejects for a missing folder. */
  update(folders: WatchedFolders): Promise<WatchUpdate>;
  close(): void;
}

/** `watch` of `node:fs`, as far as it is used here. */
export type WatchFolder = (
  folder: string,
  options: { persistent: boolean },
  listener: (event: string, name: string | null) => void,
) => FSWatcher;

const MAX_LINKS = 16;

/**
 * Calls `onEvent` when something happens in the folder of a file, or in a folder that its symbolic links lead through. A hint,
 * not a promise: a folder that cannot be watched (missing, no inotify watches left, a network file system) is tried again
 * at each refresh, and whoever needs certainty also polls.
 */
export function watchFolders(file: string, onEvent: () => void): FolderWatch {
  const set = watchFolderSet(onEvent);
  return {
    async refresh() {
      const links = await linksTo(file);
      await set.update(new Map(links.map((link) => [path.dirname(link), undefined])));
    },
    close: () => set.close(),
  };
}

/** Calls `onEvent` when something happens in one of the folders. A hint, like `watchFolders`. */
export function watchFolderSet(onEvent: () => void, watchFolder: WatchFolder = watch): FolderSetWatch {
  const watched = new Map<string, { watcher: FSWatcher; identity: string }>();
  let filters: WatchedFolders = new Map();
  let isClosed = false;

  const drop = (folder: string) => {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  };

  const add = (folder: string, identity: string): string | undefined => {
    try {
      const watcher = watchFolder(folder, { persistent: false }, (_event, name) => {
        const names = filters.get(folder);
        if (name === null || names === undefined || names.has(name)) onEvent();
      });
      watcher.on('error', () => {
        if (watched.get(folder)?.watcher === watcher) drop(folder);
        onEvent();
      });
      watched.set(folder, { watcher, identity });
      return undefined;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return error.code;
    }
  };

  return {
    async update(folders) {
      const wanted = await identities(folders.keys());
      if (isClosed) return { added: 0, failures: new Map() };
      filters = folders;
      for (const [folder, { identity }] of watched) {
        if (wanted.get(folder) !== identity) drop(folder);
      }
      const failures = new Map<string, string>();
      let added = 0;
      for (const [folder, identity] of wanted) {
        if (watched.has(folder)) continue;
        const code = add(folder, identity);
        if (code === undefined) added += 1;
        // Gone between the two calls: not there is no failure.
        else if (code !== 'ENOENT') failures.set(folder, code);
      }
      return { added, failures };
    },
    close() {
      isClosed = true;
      for (const folder of [...watched.keys()]) drop(folder);
    },
  };
}

/** The path and, where it is a symbolic link, what it leads to, link by link; 16 at most. */
export async function linksTo(file: string): Promise<string[]> {
  const links: string[] = [];
  let current = path.resolve(file);
  while (links.length < MAX_LINKS) {
    links.push(current);
    const next = await linkTarget(current);
    if (next === undefined) break;
    current = path.resolve(path.dirname(current), next);
  }
  return links;
}

async function linkTarget(file: string): Promise<string | undefined> {
  try {
    return await readlink(file);
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

/** Which folder a path leads to now: after a swap the path is the same and the folder another. */
async function identities(folders: Iterable<string>): Promise<Map<string, string>> {
  const result = new Map<string, string>();
  for (const folder of folders) {
    try {
      const { dev, ino } = await stat(folder, { bigint: true });
      result.set(folder, `${dev}:${ino}`);
    } catch (error) {
      if (!isSystemError(error)) throw error;
    }
  }
  return result;
}
