import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { isAbandoned, type JournalOwner, leftName, liveName } from './journal-owner.ts';

const SEGMENT_ENDING = '.jsonl';
const PROBE_BYTES = 4096;

/**
 * The folder of one journal inside a directory that several processes, also of several machines, may share. Nothing is
 * locked: a folder changes hands by a rename, which one process wins.
 */
export class JournalFolder {
  readonly #directory: string;
  readonly #owner: JournalOwner;
  #path: string;
  #lastSegment = 0;

  /** Makes directory and folder. Throws where that is not possible. */
  constructor(directory: string, owner: JournalOwner) {
    this.#directory = directory;
    this.#owner = owner;
    this.#path = path.join(directory, liveName(owner));
    this.create();
  }

  get path(): string {
    return this.#path;
  }

  /** Makes the folder (again), readable by its owner alone, and tries whether the disk takes something. */
  create(): void {
    mkdirSync(this.#path, { recursive: true, mode: 0o700 });
    const probe = path.join(this.#path, 'probe');
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600 });
    unlinkSync(probe);
  }

  exists(): boolean {
    return existsSync(this.#path);
  }

  /** The path of one more segment. */
  nextSegmentPath(): string {
    this.#lastSegment += 1;
    return path.join(this.#path, `${String(this.#lastSegment).padStart(8, '0')}${SEGMENT_ENDING}`);
  }

  /** Shows the others that the owner lives. False when they thought it dead and took the folder. */
  heartbeat(now: Date): boolean {
    try {
      utimesSync(this.#path, now, now);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  /** Takes over the segments of processes that are gone and returns their new paths. `now` is in milliseconds. */
  claimAbandoned(now: number): string[] {
    const own = path.basename(this.#path);
    for (const name of readdirSync(this.#directory)) {
      if (name === own) continue;
      const abandoned = path.join(this.#directory, name);
      try {
        if (!isAbandoned(name, now - statSync(abandoned).mtimeMs)) continue;
        renameSync(abandoned, path.join(this.#path, name));
      } catch (error) {
        // Another process was faster.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    return readdirSync(this.#path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap((entry) => this.#flatten(path.join(this.#path, entry.name)));
  }

  /** Removes the folder, which must be empty. */
  remove(): void {
    rmdirSync(this.#path);
  }

  /** Leaves the folder to whoever starts next. */
  leave(): void {
    renameSync(this.#path, path.join(this.#directory, leftName(this.#owner.id)));
  }

  /** Moves the segments of a claimed folder, and of those that its owner had claimed, up into this one. */
  #flatten(folder: string): string[] {
    const moved = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const from = path.join(folder, entry.name);
      if (entry.isDirectory()) return this.#flatten(from);
      const to = this.nextSegmentPath();
      renameSync(from, to);
      return [to];
    });
    rmdirSync(folder);
    return moved;
  }
}
