import type { Clock } from '../base/clock.ts';
import { Follower, type WatchFolder, wayTo } from '../base/follow.ts';
import type { Logger } from '../observability/logger.ts';
import { type FolderScan, scanFolder } from './folder-scan.ts';
import type { ResourceLimits, ResourceTimes } from './resources.ts';
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
  readonly #follower: Follower;
  #exists = false;
  #putOffs = 0;
  /** When files were first seen missing, monotonic. */
  #missingSince: number | undefined;

  constructor(parts: FollowedFolderParts) {
    this.#parts = parts;
    this.files = new SourceFiles(parts.limits, parts.clock);
    this.#follower = new Follower({
      ...parts,
      onTrouble: (code) => this.#logTrouble(code),
    });
  }

  get exists(): boolean {
    return this.#exists;
  }

  /** True while the file system gives no notices. */
  get isPolling(): boolean {
    return this.#follower.isPolling;
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
    this.#follower.close();
  }

  async #scan(): Promise<FolderScan> {
    const { folder, limits } = this.#parts;
    let scan = await scanFolder(folder, limits);
    for (let looks = 1; (await this.#follow(scan)) && looks < MAX_LOOKS; looks += 1) {
      scan = await scanFolder(folder, limits);
    }
    return scan;
  }

  /** Watches the folders of this look, and the way to the top one. Returns whether some were not watched before. */
  async #follow({ folders }: FolderScan): Promise<boolean> {
    const targets = new Map<string, ReadonlySet<string> | undefined>(await wayTo(this.#parts.folder));
    for (const folder of folders) targets.set(folder, undefined);
    // The way may be closed to watchers (a home folder); that only makes its changes seen later.
    return this.#follower.follow(targets, (folder) => folders.has(folder));
  }

  #logTrouble(code: string): void {
    const { log, folder, times } = this.#parts;
    if (code === '') log.info({ folder }, 'the folder of resources can be watched again');
    else
      log.warn(
        { folder, code, poll_ms: times.poll },
        'the folder of resources cannot be watched; it is polled',
      );
  }

  /** Editors move a file away for a moment. */
  #mayComeBack(missing: readonly string[]): boolean {
    if (missing.length === 0) return false;
    const { clock, times } = this.#parts;
    const now = clock.monotonic();
    this.#missingSince ??= now;
    const left = this.#missingSince + times.gone - now;
    if (left <= 0) return false;
    this.#follower.soon(left);
    return true;
  }

  /** What happened while the folder was read may have torn apart what belongs together, as the two halves of a swap. */
  #putsOff(isTorn: boolean): boolean {
    if ((!isTorn && !this.#follower.isPending) || this.#putOffs >= MAX_PUT_OFFS) return false;
    this.#putOffs += 1;
    this.#follower.soon(this.#parts.times.quiet);
    return true;
  }
}
