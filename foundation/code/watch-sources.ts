import { followStates } from '../base/follow.ts';
import type { Logger } from '../observability/logger.ts';
import { codeFingerprint } from './code-fingerprint.ts';
import type { CodeSource } from './code-sources.ts';

/** The folders, and what of them was imported. */
interface SourceFolders {
  readonly folders: readonly string[];
  /** What is there now, by name. */
  sources(): Promise<ReadonlyMap<string, CodeSource>>;
  /** The state of each source when it was imported last (see `codeFingerprint`). */
  imported(): ReadonlyMap<string, string | undefined>;
}

/** What happened in the plugin folders. */
export type FolderEvent =
  | { readonly kind: 'found' | 'edited'; readonly name: string }
  | { readonly kind: 'gone'; readonly name: string };

/** How the folders are watched. */
export interface WatchOptions {
  readonly folders: SourceFolders;
  /** Follow the code of every plugin, with a notice from the file system for each edit. */
  readonly code: boolean;
  /** Plugins whose code is followed although `code` is false; of the others only their coming and going is. */
  follows(name: string): boolean;
  /** The next look waits for it. It must not throw. */
  handle(event: FolderEvent): Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A state counts when two looks this many milliseconds apart agree: a folder is copied file by file. */
const SETTLE_MS = 200;
/** Between looks without any notice. */
const POLL_MS = 1_000;

/**
 * Reports which plugin folders come and go, and whose code changes, until the signal aborts. What changed since the
 * plugins were imported is reported like any later change.
 */
export function watchSources({ folders, code, follows, handle, log, signal }: WatchOptions): void {
  let failure = '';
  followStates<string>({
    async look(reported) {
      const visited = new Set(folders.folders);
      const states = new Map<string, string>();
      for (const [name, { folder }] of await folders.sources()) {
        const known = reported.get(name);
        const print =
          code || known === undefined || follows(name) ? await codeFingerprint(folder, visited) : known;
        if (print !== undefined) states.set(name, print);
      }
      failure = '';
      return { states, targets: new Map([...visited].map((folder) => [folder, undefined])) };
    },
    known: knownPrints(folders),
    async onChange(name, state, before) {
      const kind = state === undefined ? 'gone' : before === undefined ? 'found' : 'edited';
      await handle({ kind, name });
    },
    onFailure(err) {
      // The same trouble at every look is one line.
      if (String(err) !== failure) log.error({ err }, 'the plugin folders cannot be looked at');
      failure = String(err);
    },
    onTrouble(codes) {
      if (codes !== '') log.warn({ code: codes }, 'a plugin folder cannot be watched, and is polled');
    },
    signal,
    settle: SETTLE_MS,
    poll: POLL_MS,
  });
}

function knownPrints(folders: SourceFolders): (readonly [string, string])[] {
  return [...folders.imported()].flatMap(([name, print]) =>
    print === undefined ? [] : [[name, print] as const],
  );
}
