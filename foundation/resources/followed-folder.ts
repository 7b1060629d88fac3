import type { Clock } from '../base/clock.ts';
import { Follower, wayTo } from '../base/follow.ts';
import type { WatchFolder } from '../base/watch-folder.ts';
import type { Logger } from '../observability/logger.ts';
import { type FolderScan, scanFolder } from './folder-scan.ts';
import type { ResourceLimits, ResourceTimes } from './resources.ts';
import { createSourceFiles } from './source-files.ts';

/** What a folder is followed with. */
export interface FollowedFolderParts {
  /** Absolute; need not exist. */
  readonly folder: string;
  readonly limits: ResourceLimits;
  readonly times: ResourceTimes;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watch?: WatchFolder;
  /** It is time for a look. */
  readonly onChange: () => void;
}

/** What a look came to. `unsettled`: something is going on; another look was asked for, and nothing was taken over. */
export type LookResult = 'changed' | 'same' | 'unsettled';

/** Looks in a row, for folders that were not watched during the one before. */
const MAX_LOOKS = 5;
/** Looks in a row that may be given up because something happened meanwhile. */
const MAX_PUT_OFFS = 3;

/** The files of the folder as they were when nothing was going on with them. */
export function createFollowedFolder(parts: FollowedFolderParts) {
  const { folder, limits, times, clock, log } = parts;
  const files = createSourceFiles(limits, clock);
  const follower = new Follower({ ...parts, onTrouble: logTrouble });
  let exists = false;
  let putOffs = 0;
  /** When files were first seen missing, monotonic. */
  let missingSince: number | undefined;

  async function scanAll(): Promise<FolderScan> {
    let scan = await scanFolder(folder, limits);
    for (let looks = 1; (await follow(scan)) && looks < MAX_LOOKS; looks += 1) {
      scan = await scanFolder(folder, limits);
    }
    return scan;
  }

  /** Watches the folders of this look, and the way to the top one. Returns whether some were not watched before. */
  async function follow({ folders }: FolderScan): Promise<boolean> {
    const targets = new Map<string, ReadonlySet<string> | undefined>(await wayTo(folder));
    for (const one of folders) targets.set(one, undefined);
    // The way may be closed to watchers (a home folder); that only makes its changes seen later.
    return follower.follow(targets, (one) => folders.has(one));
  }

  function logTrouble(code: string): void {
    if (code === '') log.info({ folder }, 'the folder of resources can be watched again');
    else
      log.warn(
        { folder, code, poll_ms: times.poll },
        'the folder of resources cannot be watched; it is polled',
      );
  }

  /** Editors move a file away for a moment. */
  function mayComeBack(gone: readonly string[]): boolean {
    if (gone.length === 0) return false;
    const now = clock.monotonic();
    missingSince ??= now;
    const left = missingSince + times.gone - now;
    if (left <= 0) return false;
    follower.soon(left);
    return true;
  }

  /** What happened while the folder was read may have torn apart what belongs together, as the two halves of a swap. */
  function putsOff(isTorn: boolean): boolean {
    if ((!isTorn && !follower.isPending) || putOffs >= MAX_PUT_OFFS) return false;
    putOffs += 1;
    follower.soon(times.quiet);
    return true;
  }

  return {
    files,
    get exists(): boolean {
      return exists;
    },

    /** True while the file system gives no notices. */
    get isPolling(): boolean {
      return follower.isPolling;
    },

    /**
     * Reads what changed. One look at a time.
     *
     * @param isPatient waits for what is going on to be over: `unsettled` then, and not for long
     */
    async look(isPatient: boolean): Promise<LookResult> {
      const scan = await scanAll();
      if (isPatient && mayComeBack(files.missing(scan))) return 'unsettled';
      const reading = await files.read(scan);
      if (isPatient && putsOff(reading.isTorn)) return 'unsettled';
      missingSince = undefined;
      putOffs = 0;
      exists = scan.exists;
      return files.adopt(reading) ? 'changed' : 'same';
    },

    close(): void {
      follower.close();
    },
  };
}
