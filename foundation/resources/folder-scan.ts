import type { BigIntStats } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isSystemError } from '../base/durable-file.ts';
import type { ResourceLimits } from './resources.ts';

/** A file as a look into the folder found it. */
export interface FoundFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  /** Absolute, behind all links. */
  readonly real: string;
  /** Changes when the file does: inode, size, and times in nanoseconds. */
  readonly fingerprint: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** What one look into the folder found. */
export interface FolderScan {
  /** False when there is no such folder. */
  readonly exists: boolean;
  /** In order of their paths. */
  readonly files: readonly FoundFile[];
  /** Files and folders that could not be looked at, with the reason; `.` is the whole folder. What they held before is not gone. */
  readonly refused: ReadonlyMap<string, string>;
  /** Every folder that a change can happen in, absolute. */
  readonly folders: ReadonlySet<string>;
}

type ScanLimits = Pick<ResourceLimits, 'files' | 'folders' | 'depth'>;

/** Looks through the folder and those below it. Symbolic links are followed while they stay inside. Does not read files. */
export async function scanFolder(root: string, limits: ScanLimits): Promise<FolderScan> {
  const scan = new Scan(root, limits);
  await scan.run();
  // By code unit, so that the order is the same on every machine.
  scan.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return scan;
}

/** Entries of a folder that are looked at together. */
const AT_ONCE = 64;

type Look = { readonly status: BigIntStats } | { readonly error: unknown };

async function look(absolute: string): Promise<Look> {
  try {
    return { status: await lstat(absolute, { bigint: true }) };
  } catch (error) {
    return { error };
  }
}

class Scan implements FolderScan {
  exists = true;
  readonly files: FoundFile[] = [];
  readonly refused = new Map<string, string>();
  readonly folders = new Set<string>();
  readonly #root: string;
  readonly #limits: ScanLimits;
  #realRoot = '';

  constructor(root: string, limits: ScanLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  async run(): Promise<void> {
    try {
      this.#realRoot = await realpath(this.#root);
    } catch (error) {
      this.#noteRoot(error);
      return;
    }
    await this.#folder('.', this.#realRoot, []);
  }

  /** @param above the folders around this one, behind all links */
  async #folder(at: string, real: string, above: readonly string[]): Promise<void> {
    if (above.includes(real)) return this.#refuse(at, 'is a link to a folder around it');
    if (above.length >= this.#limits.depth) {
      return this.#refuse(at, `lies below ${this.#limits.depth} folders, which is too deep`);
    }
    if (this.folders.size >= this.#limits.folders) {
      return this.#refuse('.', `holds more than ${this.#limits.folders} folders`);
    }
    this.folders.add(real);
    let entries: string[];
    try {
      entries = await readdir(real);
    } catch (error) {
      if (at === '.') return this.#noteRoot(error);
      return this.#noteEntry(at, error);
    }
    const lines = [...above, real];
    const names = entries.filter((name) => isResourceFile(name) || isResourceFolder(name)).sort();
    for (let start = 0; start < names.length; start += AT_ONCE) {
      const some = names.slice(start, start + AT_ONCE).map((name) => path.join(real, name));
      for (const [index, status] of (await Promise.all(some.map(look))).entries()) {
        const absolute = some[index]!;
        const name = path.basename(absolute);
        await this.#entry(at === '.' ? name : `${at}/${name}`, absolute, status, lines);
      }
    }
  }

  async #entry(at: string, absolute: string, seen: Look, above: readonly string[]): Promise<void> {
    let isLink = false;
    try {
      let real = absolute;
      if ('error' in seen) throw seen.error;
      let { status } = seen;
      isLink = status.isSymbolicLink();
      if (isLink) {
        real = await realpath(absolute);
        if (!real.startsWith(this.#realRoot + path.sep)) {
          if (real === this.#realRoot) return this.#refuse(at, 'is a link to a folder around it');
          // Other files there are no business of ours.
          const isOurs = isResourceFile(path.basename(at)) || (await stat(real)).isDirectory();
          return isOurs ? this.#refuse(at, 'is a link that leads out of the folder') : undefined;
        }
        status = await stat(real, { bigint: true });
      }
      if (status.isDirectory()) return await this.#folder(at, real, above);
      if (!isResourceFile(path.basename(at))) return;
      if (!status.isFile()) return this.#refuse(at, 'is not a file');
      this.#add(at, real, status);
    } catch (error) {
      // Gone since it was listed; a link to nothing is a mistake worth reporting.
      if (isSystemError(error, 'ENOENT') && !isLink) return;
      if (isResourceFile(path.basename(at))) this.#noteEntry(at, error);
      else if (!isSystemError(error)) throw error;
    }
  }

  #add(at: string, real: string, status: BigIntStats): void {
    if (this.files.length >= this.#limits.files) {
      this.#refuse('.', `holds more than ${this.#limits.files} files`);
      return;
    }
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = status;
    this.folders.add(path.dirname(real));
    this.files.push({
      path: at,
      real,
      fingerprint: [real, dev, ino, size, mtimeNs, ctimeNs].join(':'),
      bytes: Number(size),
      modifiedAt: Number(mtimeMs),
    });
  }

  #noteRoot(error: unknown): void {
    if (isSystemError(error, 'ENOENT')) this.exists = false;
    else if (isSystemError(error, 'ENOTDIR')) this.#refuse('.', 'is not a folder');
    else this.#noteEntry('.', error);
  }

  #noteEntry(at: string, error: unknown): void {
    if (!isSystemError(error)) throw error;
    const reason = error.code === 'ENOENT' ? 'is a link to nothing' : `cannot be read (${error.code})`;
    this.#refuse(at, reason);
  }

  #refuse(at: string, reason: string): void {
    this.refused.set(at, reason);
  }
}

/**
 * True for the names of files that hold resources: `*.yaml` and `*.yml`, not hidden. Editors' own files are none of them
 * (`.models.yaml.swp`, `models.yaml~`, `.#models.yaml`, `#models.yaml#`, `4913`, `models.yaml.tmp`).
 */
function isResourceFile(name: string): boolean {
  return /^[^.#].*\.ya?ml$/i.test(name);
}

/** True for folders that are read: not hidden, which leaves out `..data` and `..2024_…` of a ConfigMap, `.git`, and editors' own. */
function isResourceFolder(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

/** The names that a file written through the administration may have: no folder, nothing hidden. */
export const WRITABLE_FILE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.ya?ml$/;
