import { watch as watchDirectory } from 'node:fs';
import path from 'node:path';

/**
 * Opens the watch of one folder, and rejects with the system's error when that is not possible. `lost`: the watch ended
 * by itself.
 */
export type WatchFolder = (
  folder: string,
  names: ReadonlySet<string> | undefined,
  events: { readonly changed: () => void; readonly lost: () => void },
) => Promise<{ close(): unknown }>;

/** The watch of chokidar, or a plain one where only some names matter. */
export const watchFolder: WatchFolder = async (folder, names, events) =>
  names === undefined ? watchAll(folder, events) : watchNames(folder, names, events);

type FolderEvents = Parameters<WatchFolder>[2];

/**
 * Where few names matter, as that of `gateway.yaml`, the gateway itself may write other files all the time: its
 * database lies there by default. chokidar would do as much for each of those as for a change.
 */
function watchNames(folder: string, names: ReadonlySet<string>, { changed, lost }: FolderEvents) {
  const watcher = watchDirectory(folder, { persistent: false });
  watcher.on('change', (_, name) => {
    // Without a name where the system gives none; under its own name the folder went away.
    if (name === null || names.has(String(name))) changed();
    else if (name === path.basename(folder)) lost();
  });
  watcher.on('error', lost);
  return watcher;
}

async function watchAll(folder: string, { changed, lost }: FolderEvents) {
  const { watch } = await import('chokidar');
  const ready = Promise.withResolvers<void>();
  const watcher = watch(folder, {
    depth: 0,
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    persistent: false,
  });
  watcher.on('all', changed);
  watcher.once('ready', ready.resolve);
  watcher.on('error', (error) => {
    ready.reject(error);
    lost();
  });
  try {
    await ready.promise;
  } catch (error) {
    await watcher.close();
    throw error;
  }
  return watcher;
}
