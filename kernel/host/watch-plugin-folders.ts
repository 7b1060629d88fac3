import { type FSWatcher, watch } from 'node:fs';
import type { Logger } from '../../foundation/observability/logger.ts';
import { codeFingerprint } from './code-fingerprint.ts';
import type { PluginFolders } from './plugin-folders.ts';

/** What happened in the plugin folders. */
export type FolderEvent =
  | { readonly kind: 'found' | 'edited'; readonly name: string }
  | { readonly kind: 'gone'; readonly name: string };

/** How the folders are watched. Times are milliseconds. */
export interface WatchOptions {
  readonly folders: PluginFolders;
  /** Follow the code of every plugin, with a notice from the file system for each edit. */
  readonly code: boolean;
  /** Plugins whose code is followed although `code` is false; of the others only their coming and going is. */
  follows(name: string): boolean;
  /** One event at a time: the next look waits for it. It must not throw. */
  handle(event: FolderEvent): Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** A state counts when two looks this far apart agree: a folder is copied file by file. Default 200. */
  readonly settle?: number;
  /** Between looks without any notice. Default 1000. */
  readonly poll?: number;
}

/** What was seen of one plugin. */
interface Seen {
  /** The state that was told. */
  told: string | undefined;
  /** The state of the latest look. */
  latest: string | undefined;
}

/**
 * Tells which plugin folders come and go, and whose code changes, until the signal aborts. The file system's notices only
 * make it look earlier; what was missed is found at the next look.
 */
export function watchPluginFolders(options: WatchOptions): void {
  const { folders, signal, log, settle = 200, poll = 1000 } = options;
  // What changed since the plugins were imported is told like any later change.
  const seen = new Map<string, Seen>();
  for (const [name, print] of folders.imported()) seen.set(name, { told: print, latest: print });
  const notices = openNotices(options);
  let failure = '';
  void (async () => {
    let wait = poll;
    while (!signal.aborted) {
      await notices.wait(wait, settle);
      if (signal.aborted) return;
      try {
        const isSettled = await look(options, seen);
        wait = isSettled ? poll : settle;
        failure = '';
      } catch (err) {
        // The same trouble at every look is one line.
        const message = String(err);
        if (message !== failure) log.error({ err }, 'the plugin folders cannot be looked at');
        failure = message;
        wait = poll;
      }
    }
  })();
}

/** One look at everything; true when no state waits for a second one. */
async function look(options: WatchOptions, seen: Map<string, Seen>): Promise<boolean> {
  const { folders, code, follows, handle, signal } = options;
  const sources = await folders.sources();
  let isSettled = true;
  for (const name of new Set([...seen.keys(), ...sources.keys()])) {
    if (signal.aborted) return true;
    const source = sources.get(name);
    const state = seen.get(name) ?? { told: undefined, latest: undefined };
    seen.set(name, state);
    const isFollowed = code || state.told === undefined || follows(name);
    const now =
      source === undefined ? undefined : isFollowed ? await codeFingerprint(source.folder) : state.told;
    const agrees = now === state.latest;
    state.latest = now;
    if (now === state.told) {
      if (now === undefined) seen.delete(name);
      continue;
    }
    if (!agrees) {
      isSettled = false;
      continue;
    }
    const kind = now === undefined ? 'gone' : state.told === undefined ? 'found' : 'edited';
    state.told = now;
    if (now === undefined) seen.delete(name);
    await handle({ kind, name });
  }
  return isSettled;
}

/** Notices of the file system below the folders. Where there are none, looking from time to time has to do. */
function openNotices({ folders: { folders }, code, signal, log }: WatchOptions) {
  let wake: (() => void) | undefined;
  let isNoticed = false;
  const watchers: FSWatcher[] = [];
  for (const folder of folders) {
    try {
      const watcher = watch(folder, { recursive: code, persistent: false }, () => {
        isNoticed = true;
        wake?.();
      });
      watcher.on('error', (err) => log.warn({ err, folder }, 'a plugin folder is polled from now on'));
      watchers.push(watcher);
    } catch (err) {
      log.warn({ err, folder }, 'a plugin folder cannot be watched, and is polled');
    }
  }
  signal.addEventListener(
    'abort',
    () => {
      for (const watcher of watchers) watcher.close();
      wake?.();
    },
    { once: true },
  );
  return {
    /** Waits `longest`, or until a notice, but `shortest` at least. */
    async wait(longest: number, shortest: number): Promise<void> {
      await pause(shortest);
      if (isNoticed || signal.aborted || longest <= shortest) {
        isNoticed = false;
        return;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, longest - shortest).unref();
      await promise;
      clearTimeout(timer);
      wake = undefined;
      isNoticed = false;
    },
  };

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, milliseconds).unref();
    });
  }
}
