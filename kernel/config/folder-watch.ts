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

const MAX_LINKS = 16;

/**
 * Calls `onEvent` when something happens in the folder of a file, or in a folder that its symbolic links lead through. A hint,
 * not a promise: a folder that cannot be watched (missing, no inotify watches left, a network file system) is tried again
 * at each refresh, and whoever needs certainty also polls.
 */
export function watchFolders(file: string, onEvent: () => void): FolderWatch {
  const watched = new Map<string, { watcher: FSWatcher; identity: string }>();
  let isClosed = false;

  const drop = (folder: string) => {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  };

  const add = (folder: string, identity: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, onEvent);
      watcher.on('error', () => {
        if (watched.get(folder)?.watcher === watcher) drop(folder);
        onEvent();
      });
      watched.set(folder, { watcher, identity });
    } catch (error) {
      if (!isSystemError(error)) throw error;
    }
  };

  return {
    async refresh() {
      const wanted = await identities(await foldersOf(file));
      if (isClosed) return;
      for (const [folder, { identity }] of watched) {
        if (wanted.get(folder) !== identity) drop(folder);
      }
      for (const [folder, identity] of wanted) {
        if (!watched.has(folder)) add(folder, identity);
      }
    },
    close() {
      isClosed = true;
      for (const folder of [...watched.keys()]) drop(folder);
    },
  };
}

/** The folder of the file and of every link on the way to it. */
async function foldersOf(file: string): Promise<Set<string>> {
  const folders = new Set<string>();
  let current = path.resolve(file);
  for (let links = 0; links < MAX_LINKS; links++) {
    folders.add(path.dirname(current));
    const next = await linkTarget(current);
    if (next === undefined) break;
    current = path.resolve(path.dirname(current), next);
  }
  return folders;
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
