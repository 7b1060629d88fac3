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
  /**
   * Files and folders that could not be looked at, with the reason; `.` is the whole folder. What they held before is
   * not gone.
   */
  readonly refused: ReadonlyMap<string, string>;
  /** Every folder that a change can happen in, absolute. */
  readonly folders: ReadonlySet<string>;
}

type ScanLimits = Pick<ResourceLimits, 'files' | 'folders' | 'depth'>;

/**
 * Looks through the folder and those below it. Symbolic links are followed while they stay inside. Does not read files.
 */
export async function scanFolder(root: string, limits: ScanLimits): Promise<FolderScan> {
  const files: FoundFile[] = [];
  const refused = new Map<string, string>();
  const folders = new Set<string>();
  let exists = true;
  let realRoot = '';

  /** @param above the folders around this one, behind all links */
  async function lookThrough(at: string, real: string, above: readonly string[]): Promise<void> {
    if (above.includes(real)) return refuse(at, 'is a link to a folder around it');
    if (above.length >= limits.depth) {
      return refuse(at, `lies below ${limits.depth} folders, which is too deep`);
    }
    if (folders.size >= limits.folders) return refuse('.', `holds more than ${limits.folders} folders`);
    folders.add(real);
    let entries: string[];
    try {
      entries = await readdir(real);
    } catch (error) {
      return at === '.' ? noteRoot(error) : noteEntry(at, error);
    }
    const lines = [...above, real];
    const names = entries.filter((name) => isResourceFile(name) || isResourceFolder(name)).sort();
    for (let start = 0; start < names.length; start += AT_ONCE) {
      const some = names.slice(start, start + AT_ONCE);
      // A failure is handled when it is the entry's turn.
      const seen = await Promise.allSettled(
        some.map((name) => lstat(path.join(real, name), { bigint: true })),
      );
      for (const [index, status] of seen.entries()) {
        const name = some[index]!;
        await look(at === '.' ? name : `${at}/${name}`, path.join(real, name), status, lines);
      }
    }
  }

  async function look(
    at: string,
    absolute: string,
    seen: PromiseSettledResult<BigIntStats>,
    above: readonly string[],
  ): Promise<void> {
    let isLink = false;
    try {
      let real = absolute;
      if (seen.status === 'rejected') throw seen.reason;
      let status = seen.value;
      isLink = status.isSymbolicLink();
      if (isLink) {
        real = await realpath(absolute);
        if (!real.startsWith(realRoot + path.sep)) {
          if (real === realRoot) return refuse(at, 'is a link to a folder around it');
          // Other files there are no business of ours.
          const isOurs = isResourceFile(path.basename(at)) || (await stat(real)).isDirectory();
          return isOurs ? refuse(at, 'is a link that leads out of the folder') : undefined;
        }
        status = await stat(real, { bigint: true });
      }
      if (status.isDirectory()) return await lookThrough(at, real, above);
      if (!isResourceFile(path.basename(at))) return;
      if (!status.isFile()) return refuse(at, 'is not a file');
      add(at, real, status);
    } catch (error) {
      // Gone since it was listed; a link to nothing is a mistake worth reporting.
      if (isSystemError(error, 'ENOENT') && !isLink) return;
      if (isResourceFile(path.basename(at))) noteEntry(at, error);
      else if (!isSystemError(error)) throw error;
    }
  }

  function add(at: string, real: string, status: BigIntStats): void {
    if (files.length >= limits.files) {
      refuse('.', `holds more than ${limits.files} files`);
      return;
    }
    const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = status;
    folders.add(path.dirname(real));
    files.push({
      path: at,
      real,
      fingerprint: [real, dev, ino, size, mtimeNs, ctimeNs].join(':'),
      bytes: Number(size),
      modifiedAt: Number(mtimeMs),
    });
  }

  function noteRoot(error: unknown): void {
    if (isSystemError(error, 'ENOENT')) exists = false;
    else if (isSystemError(error, 'ENOTDIR')) refuse('.', 'is not a folder');
    else noteEntry('.', error);
  }

  function noteEntry(at: string, error: unknown): void {
    if (!isSystemError(error)) throw error;
    refuse(at, error.code === 'ENOENT' ? 'is a link to nothing' : `cannot be read (${error.code})`);
  }

  function refuse(at: string, reason: string): void {
    refused.set(at, reason);
  }

  try {
    realRoot = await realpath(root);
    await lookThrough('.', realRoot, []);
  } catch (error) {
    noteRoot(error);
  }
  // By code unit, so that the order is the same on every machine.
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { exists, files, refused, folders };
}

/** Entries of a folder that are looked at together. */
const AT_ONCE = 64;

/**
 * True for the names of files that hold resources: `*.yaml` and `*.yml`, not hidden. Editors' own files are none of
 * them (`.models.yaml.swp`, `models.yaml~`, `.#models.yaml`, `#models.yaml#`, `4913`, `models.yaml.tmp`).
 */
function isResourceFile(name: string): boolean {
  return /^[^.#].*\.ya?ml$/i.test(name);
}

/**
 * True for folders that are read: not hidden, which leaves out `..data` and `..2024_…` of a ConfigMap, `.git`, and
 * editors' own.
 */
function isResourceFolder(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

/** The names that a file written through the administration may have: no folder, nothing hidden. */
export const WRITABLE_FILE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.ya?ml$/;
