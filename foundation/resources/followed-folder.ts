import type { Clock } from '../base/clock.ts';
import type { WatchFolder } from '../config/folder-watch.ts';
import type { Logger } from '../observability/logger.ts';
import { FolderNotices } from './folder-notices.ts';
import { type FolderScan, scanFolder } from './folder-scan.ts';
import type { ResourceLimits, ResourceTimes } from './limits.ts';
import { SourceFiles } from './source-files.ts';

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
export class FollowedFolder {
  readonly files: SourceFiles;
  readonly #parts: FollowedFolderParts;
  readonly #notices: FolderNotices;
  #exists = false;
  #putOffs = 0;
  /** When files were first seen missing, monotonic. */
  #missingSince: number | undefined;

  constructor(parts: FollowedFolderParts) {
    this.#parts = parts;
    this.files = new SourceFiles(parts.limits, parts.clock);
    this.#notices = new FolderNotices(parts);
  }

  get exists(): boolean {
    return this.#exists;
  }

  /** True while the file system gives no notices. */
  get isPolling(): boolean {
    return this.#notices.isPolling;
  }

  /**
   * Reads what changed. One look at a time.
   *
   * @param isPatient waits for what is going on to be over: `unsettled` then, and not for long
   */
  async look(isPatient: boolean): Promise<LookResult> {
    const scan = await this.#scan();
    if (isPatient && this.#mayComeBack(this.files.missing(scan))) return 'unsettled';
    const reading = await this.files.read(scan);
    if (isPatient && this.#putsOff(reading.isTorn)) return 'unsettled';
    this.#missingSince = undefined;
    this.#putOffs = 0;
    this.#exists = scan.exists;
    return this.files.adopt(reading) ? 'changed' : 'same';
  }

  close(): void {
    this.#notices.close();
  }

  async #scan(): Promise<FolderScan> {
    const { folder, limits } = this.#parts;
    let scan = await scanFolder(folder, limits);
    for (let looks = 1; (await this.#notices.follow(scan)) && looks < MAX_LOOKS; looks += 1) {
      scan = await scanFolder(folder, limits);
    }
    return scan;
  }

  /** Editors move a file away for a moment. */
  #mayComeBack(missing: readonly string[]): boolean {
    if (missing.length === 0) return false;
    const { clock, times } = this.#parts;
    const now = clock.monotonic();
    this.#missingSince ??= now;
    const left = this.#missingSince + times.gone - now;
    if (left <= 0) return false;
    this.#notices.soon(left);
    return true;
  }

  /** What happened while the folder was read may have torn apart what belongs together, as the two halves of a swap. */
  #putsOff(isTorn: boolean): boolean {
    if ((!isTorn && !this.#notices.isPending) || this.#putOffs >= MAX_PUT_OFFS) return false;
    this.#putOffs += 1;
    this.#notices.soon(this.#parts.times.quiet);
    return true;
  }
}
