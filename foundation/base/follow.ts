import { readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from './clock.ts';
import { isSystemError } from './durable-file.ts';
import { type WatchFolder, watchFolder } from './watch-folder.ts';

/** Folders to watch, each with the names in it that matter; `undefined` for all. Not what lies deeper. */
export type WatchTargets = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** When changes are reported, in milliseconds. */
export interface FollowTimes {
  /** Quiet after a notice of the file system: an editor does several things in one save. */
  readonly quiet: number;
  /** The longest that notices can put the report off. */
  readonly busy: number;
  /** Between reports without any notice: network file systems and some mounts send none. */
  readonly rescan: number;
  /** The same while a folder cannot be watched. */
  readonly poll: number;
}

/** What is followed, and how. */
export interface FollowerOptions {
  readonly times: FollowTimes;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Something may have changed. At the end of a burst of notices, and from time to time without any. */
  readonly onChange: () => void;
  /**
   * Folders cannot be watched, with the system's error codes (`ENOSPC`: no inotify watches left); an empty text when
   * all can again.
   */
  readonly onTrouble?: (codes: string) => void;
  readonly watch?: WatchFolder;
}

interface Watched {
  readonly identity: string;
  isOpen: boolean;
  close: () => unknown;
}

/** Folders that are watched at one time. Further ones are polled. */
const MAX_WATCHED = 4_000;

/**
 * Reports when it is time to look at some folders again. A report is a hint: it says neither what changed nor that
 * something did. The caller looks, and calls `follow` with the folders that matter now.
 *
 * The watches are chokidar's, one for each folder, or plain ones where only some names matter. Three things are done
 * here, since it does not do them: a path that leads to another folder than before (a swapped link, a folder deleted
 * and made again) is watched again at the next look, a folder that cannot be watched is polled and tried again, and no
 * more than a number of folders is watched.
 */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #rescan: NodeJS.Timeout | undefined;
  #burstBegan = 0;
  #trouble = '';
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#planRescan();
  }

  /** True while a folder cannot be watched. */
  get isPolling(): boolean {
    return this.#trouble !== '';
  }

  /** True when something happened since the latest report. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Watches these folders and no others; one that does not exist is no trouble. Returns whether some were not watched
   * before: what happened in them until now was not noticed, so look again. One call at a time. Never rejects for what
   * the file system says.
   *
   * @param isVital whether it is trouble that the folder cannot be watched. Default: always
   */
  async follow(targets: WatchTargets, isVital: (folder: string) => boolean = () => true): Promise<boolean> {
    const wanted = await identities(targets);
    for (const [folder, { identity }] of this.#watched) {
      if (wanted.get(folder) !== identity) this.#drop(folder);
    }
    const missing = [...wanted].filter(([folder]) => !this.#watched.has(folder));
    const opened = await Promise.all(
      missing.map(([folder, identity]) => this.#open(folder, identity, targets.get(folder))),
    );
    // Gone between the two calls: not there is no failure.
    const failures = missing.flatMap(([folder], at) => (isVital(folder) ? [opened[at]] : []));
    this.#setTrouble(failures.filter((code) => code !== undefined && code !== 'ENOENT'));
    return opened.includes(undefined);
  }

  /** Asks for a report, `delay` milliseconds from now, unless one is due anyway. */
  soon(delay: number): void {
    if (this.#timer !== undefined) return;
    this.#burstBegan = this.#options.clock.monotonic();
    this.#arm(delay);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#rescan);
    for (const folder of [...this.#watched.keys()]) this.#drop(folder);
  }

  /** The code of the failure; `undefined` when the folder is watched. */
  async #open(folder: string, identity: string, names?: ReadonlySet<string>): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    if (this.#watched.size >= MAX_WATCHED) return 'EMFILE';
    const entry: Watched = { identity, isOpen: false, close: () => undefined };
    this.#watched.set(folder, entry);
    try {
      const { watch = watchFolder } = this.#options;
      const watcher = await watch(folder, names, {
        changed: () => this.#notice(),
        lost: () => {
          if (!entry.isOpen) return;
          if (this.#watched.get(folder) === entry) this.#drop(folder);
          this.#notice();
        },
      });
      entry.close = () => watcher.close();
      entry.isOpen = true;
      if (this.#watched.get(folder) !== entry) watcher.close();
      return undefined;
    } catch (error) {
      if (this.#watched.get(folder) === entry) this.#watched.delete(folder);
      if (!isSystemError(error)) throw error;
      return error.code;
    }
  }

  #drop(folder: string): void {
    this.#watched.get(folder)?.close();
    this.#watched.delete(folder);
  }

  #notice(): void {
    const { times, clock } = this.#options;
    const now = clock.monotonic();
    if (this.#timer === undefined) this.#burstBegan = now;
    this.#arm(Math.max(0, Math.min(times.quiet, this.#burstBegan + times.busy - now)));
  }

  #arm(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = this.#isClosed ? undefined : setTimeout(() => this.#report(), delay).unref();
  }

  #report(): void {
    this.#timer = undefined;
    this.#planRescan();
    this.#options.onChange();
  }

  #planRescan(): void {
    clearTimeout(this.#rescan);
    if (this.#isClosed) return;
    const { rescan, poll } = this.#options.times;
    this.#rescan = setTimeout(() => this.#report(), this.isPolling ? poll : rescan).unref();
  }

  #setTrouble(failures: readonly unknown[]): void {
    const codes = [...new Set(failures)].sort().join(', ');
    if (codes === this.#trouble || this.#isClosed) return;
    this.#trouble = codes;
    this.#options.onTrouble?.(codes);
    this.#planRescan();
  }
}

/** What is followed, and what is known of it. */
export interface StatesOptions<S> {
  /**
   * The states by name, and the folders in which a change would be noticed. `reported`: the states that the caller
   * knows.
   */
  readonly look: (reported: ReadonlyMap<string, S>) => Promise<{
    readonly states: ReadonlyMap<string, S>;
    readonly targets: WatchTargets;
  }>;
  /** The states that were taken over already. */
  readonly known?: Iterable<readonly [string, S]>;
  /**
   * Reports a state that is not the one reported last; `undefined` when there is none any more. The next look waits for
   * it. It must not throw.
   */
  readonly onChange: (name: string, state: S | undefined, before: S | undefined) => void | Promise<void>;
  /** A look failed. The next one comes after `poll`. Default: the failure is not handled. */
  readonly onFailure?: (error: unknown) => void;
  readonly onTrouble?: (codes: string) => void;
  readonly signal: AbortSignal;
  /**
   * A state counts when two looks this many milliseconds apart agree: files are truncated before they are written,
   * folders copied file by file.
   */
  readonly settle: number;
  /** Milliseconds between looks without any notice. */
  readonly poll: number;
}

/** Follows states of things in folders from now on until the signal aborts. Half-written states are not reported. */
export function followStates<S>(options: StatesOptions<S>): void {
  const { signal, settle, onChange } = options;
  if (signal.aborted) return;
  const poll = Math.max(settle, options.poll);
  const reported = new Map(options.known);
  let latest = new Map(reported);
  let isLooking = false;
  const follower = new Follower({
    ...options,
    times: { quiet: settle, busy: settle, rescan: poll, poll },
    clock: systemClock,
    onChange: () => void lookAgain(),
  });
  signal.addEventListener('abort', () => follower.close(), { once: true });
  void lookAgain();

  async function lookAgain(): Promise<void> {
    if (isLooking) return follower.soon(settle);
    isLooking = true;
    try {
      const { states, targets } = await options.look(reported);
      if (signal.aborted) return;
      const isNew = await follower.follow(targets);
      const isSettled = await consider(new Map(states));
      if (isNew || !isSettled) follower.soon(settle);
    } catch (error) {
      if (options.onFailure === undefined) throw error;
      options.onFailure(error);
    } finally {
      isLooking = false;
    }
  }

  /** True when no state waits for a second look. */
  async function consider(states: Map<string, S>): Promise<boolean> {
    const before = latest;
    latest = states;
    let isSettled = true;
    for (const name of new Set([...reported.keys(), ...before.keys(), ...states.keys()])) {
      if (signal.aborted) return true;
      const state = states.get(name);
      const old = reported.get(name);
      if (isDeepStrictEqual(state, old)) continue;
      if (!isDeepStrictEqual(state, before.get(name))) {
        isSettled = false;
        continue;
      }
      if (state === undefined) reported.delete(name);
      else reported.set(name, state);
      await onChange(name, state, old);
    }
    return isSettled;
  }
}

const MAX_LINKS = 16;

/**
 * The folders in which it is decided what a path leads to, each with the names that decide: every symbolic link on the
 * way, the last member, and the first one that is not there.
 */
export async function wayTo(file: string): Promise<Map<string, Set<string>>> {
  const deciding = new Map<string, Set<string>>();
  let [at, ...rest] = membersOf(path.resolve(file));
  for (let links = 0; links <= MAX_LINKS; ) {
    const [name, ...below] = rest;
    if (name === undefined) break;
    const here = path.join(at, name);
    const target = await linkTarget(here);
    if (target !== 'no link' || below.length === 0) {
      deciding.set(at, (deciding.get(at) ?? new Set()).add(name));
    }
    if (target === 'missing') break;
    [at, rest] = [here, below];
    if (target === 'no link') continue;
    [at, ...rest] = [...membersOf(path.resolve(path.dirname(here), target.leadsTo)), ...below];
    links += 1;
  }
  return deciding;
}

/** The root, and the names below it. */
function membersOf(absolute: string): [string, ...string[]] {
  const { root } = path.parse(absolute);
  return [root, ...absolute.slice(root.length).split(path.sep).filter(Boolean)];
}

async function linkTarget(file: string): Promise<{ readonly leadsTo: string } | 'missing' | 'no link'> {
  try {
    return { leadsTo: await readlink(file) };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error.code === 'ENOENT' ? 'missing' : 'no link';
  }
}

/**
 * Identifies the folder that a path leads to and what is watched in it: after a swap the path is the same and the
 * folder another.
 */
async function identities(targets: WatchTargets): Promise<Map<string, string>> {
  const result = new Map<string, string>();
  for (const [folder, names] of targets) {
    try {
      const { dev, ino } = await stat(folder, { bigint: true });
      result.set(folder, [dev, ino, ...(names ?? ['*'])].join('/'));
    } catch (error) {
      if (!isSystemError(error)) throw error;
    }
  }
  return result;
}
