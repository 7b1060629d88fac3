import { access } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { linksTo, type WatchedFolders, type WatchFolder, watchFolderSet } from '../config/folder-watch.ts';
import type { Logger } from '../observability/logger.ts';
import type { FolderScan } from './folder-scan.ts';
import type { ResourceTimes } from './limits.ts';

/** What the notices are made from. */
export interface FolderNoticesParts {
  /** Absolute; need not exist. */
  readonly folder: string;
  readonly times: Pick<ResourceTimes, 'quiet' | 'busy' | 'rescan' | 'poll'>;
  /** Something may have changed; called at the end of a burst of notices, and from time to time without any. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watch?: WatchFolder;
}

/** Says when to look into the folder. */
export class FolderNotices {
  readonly #parts: FolderNoticesParts;
  readonly #set: ReturnType<typeof watchFolderSet>;
  #timer: NodeJS.Timeout | undefined;
  #rescan: NodeJS.Timeout | undefined;
  #burstBegan = 0;
  #trouble = '';
  #isClosed = false;

  constructor(parts: FolderNoticesParts) {
    this.#parts = parts;
    this.#set = watchFolderSet(() => this.#notice(), parts.watch);
    this.#plan();
  }

  /** True while a folder cannot be watched. */
  get isPolling(): boolean {
    return this.#trouble !== '';
  }

  /** True when something happened since the latest call of `onChange`. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /** Watches the folders of this look, and the way to the top one. Returns whether some were not watched before: look again then. */
  async follow(scan: FolderScan): Promise<boolean> {
    const folders = new Map<string, ReadonlySet<string> | undefined>(await wayTo(this.#parts.folder));
    for (const folder of scan.folders) folders.set(folder, undefined);
    const { added, failures } = await this.#set.update(folders);
    // The way may be closed to watchers (a home folder); that only makes its changes seen later.
    this.#noteTrouble([...failures].filter(([folder]) => scan.folders.has(folder)).map(([, code]) => code));
    return added > 0;
  }

  /** Asks for a look by itself, `delay` milliseconds from now. */
  soon(delay: number): void {
    if (this.#timer !== undefined) return;
    this.#burstBegan = this.#parts.clock.monotonic();
    this.#arm(delay);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#rescan);
    this.#set.close();
  }

  #notice(): void {
    const { quiet, busy } = this.#parts.times;
    const now = this.#parts.clock.monotonic();
    if (this.#timer === undefined) this.#burstBegan = now;
    this.#arm(Math.max(0, Math.min(quiet, this.#burstBegan + busy - now)));
  }

  #arm(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = this.#isClosed ? undefined : setTimeout(() => this.#call(), delay).unref();
  }

  #call(): void {
    this.#timer = undefined;
    this.#plan();
    this.#parts.onChange();
  }

  #plan(): void {
    clearTimeout(this.#rescan);
    const { rescan, poll } = this.#parts.times;
    this.#rescan = setTimeout(() => this.#call(), this.isPolling ? poll : rescan).unref();
  }

  #noteTrouble(failures: readonly string[]): void {
    const trouble = [...new Set(failures)].sort().join(', ');
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    const { log, folder, times } = this.#parts;
    if (trouble === '') log.info({ folder }, 'the folder of resources can be watched again');
    else
      log.warn(
        { folder, code: trouble, poll_ms: times.poll },
        'the folder of resources cannot be watched; it is polled',
      );
    this.#plan();
  }
}

/** The folders in which it is decided what the path leads to, each with the names that decide. */
async function wayTo(folder: string): Promise<WatchedFolders> {
  const names = new Map<string, Set<string>>();
  for (const link of await linksTo(folder)) {
    // Where the folder around it is not there either, the one around that.
    for (let at = link; at !== path.dirname(at); at = path.dirname(at)) {
      const around = path.dirname(at);
      names.set(around, (names.get(around) ?? new Set()).add(path.basename(at)));
      if (await exists(around)) break;
    }
  }
  return names;
}

async function exists(folder: string): Promise<boolean> {
  try {
    await access(folder);
    return true;
  } catch {
    return false;
  }
}
