import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import { isSystemError, readTextFile } from '../base/durable-file.ts';
import { parseSourceFile, type SourceFile, unreadable } from './document.ts';
import type { FolderScan, FoundFile } from './folder-scan.ts';
import type { ResourceLimits } from './resources.ts';

/** A file that was read. */
export interface Known {
  readonly fingerprint: string;
  readonly hash: string;
  readonly source: SourceFile;
  /** Written so shortly before it was read that a later change could have left the fingerprint as it was. */
  readonly isFresh: boolean;
}

/** What was read of the folder at one time. */
export interface FolderReading {
  readonly known: ReadonlyMap<string, Known>;
  readonly sources: readonly SourceFile[];
  /** A file went away between the look and the reading: the two are of different moments. */
  readonly isTorn: boolean;
}

/** Milliseconds within which two changes of a file may carry one time. */
const FRESH = 2_000;

/** Files that are read together. */
const AT_ONCE = 16;

/** The files of the folder, parsed. A file is read when its fingerprint changed, and parsed when its content did. */
export function createSourceFiles(limits: ResourceLimits, clock: Clock) {
  let last: ReadonlyMap<string, Known> = new Map();
  let current: readonly SourceFile[] = [];

  /** The files before the limit is reached; the others are not even read. */
  function withinBytes(files: readonly FoundFile[], sources: SourceFile[]): readonly FoundFile[] {
    let bytes = 0;
    return files.filter((file) => {
      bytes += file.bytes;
      if (bytes > limits.totalBytes)
        sources.push(unreadable(file.path, `is beyond ${limits.totalBytes} bytes in all files`));
      return bytes <= limits.totalBytes;
    });
  }

  async function readOne(file: FoundFile): Promise<Known | undefined> {
    const { path, real, fingerprint, modifiedAt } = file;
    const known = last.get(path);
    if (known?.fingerprint === fingerprint && !known.isFresh) return known;
    const isFresh = Math.abs(clock.now() - modifiedAt) < FRESH;
    const reading = await readText(real, limits.fileBytes);
    if ('isGone' in reading) return undefined;
    const content = 'text' in reading ? reading.text : '';
    const hash = 'text' in reading ? createHash('sha256').update(content).digest('base64') : reading.problem;
    const seen = { fingerprint, hash, isFresh };
    if (known?.hash === hash) return { ...seen, source: known.source };
    if ('problem' in reading) return { ...seen, source: unreadable(path, reading.problem) };
    return { ...seen, source: parseSourceFile(path, content) };
  }

  return {
    /** In order of their paths; the same array as long as nothing changed. */
    get all(): readonly SourceFile[] {
      return current;
    },

    /** Files that were there, and that the look did not find. */
    missing(scan: FolderScan): readonly string[] {
      const found = new Set(scan.files.map(({ path }) => path));
      return [...last.keys()].filter((path) => !found.has(path) && !scan.refused.has(path));
    },

    /** Reads what changed since the last time. Remembers nothing before `adopt`. */
    async read(scan: FolderScan): Promise<FolderReading> {
      const known = new Map<string, Known>();
      const sources = [...scan.refused].map(([path, reason]) => unreadable(path, reason));
      let documents = 0;
      let isTorn = false;
      const files = withinBytes(scan.files, sources);
      for (let start = 0; start < files.length; start += AT_ONCE) {
        const some = files.slice(start, start + AT_ONCE);
        for (const [index, read] of (await Promise.all(some.map((file) => readOne(file)))).entries()) {
          const { path } = some[index]!;
          if (read === undefined) {
            isTorn = true;
            continue;
          }
          known.set(path, read);
          documents += read.source.documents.length;
          if (documents <= limits.documents) sources.push(read.source);
          else sources.push(unreadable(path, `is beyond ${limits.documents} documents in all files`));
        }
      }
      sources.sort((a, b) => (a.path < b.path ? -1 : 1));
      return { known, sources, isTorn };
    },

    /** Takes over what was read. Returns whether anything changed. */
    adopt({ known, sources }: FolderReading): boolean {
      last = known;
      if (isSame(sources, current)) return false;
      current = sources;
      return true;
    },

    /** What the files would be with this text in one of them. Nothing is remembered. */
    with(path: string, text: string): readonly SourceFile[] {
      const others = current.filter((source) => source.path !== path);
      return [...others, parseSourceFile(path, text)].sort((a, b) => (a.path < b.path ? -1 : 1));
    },
  };
}

/** Files are parsed again when they change, and only then; what could not be looked at is compared by its reason. */
function isSame(one: readonly SourceFile[], other: readonly SourceFile[]): boolean {
  return (
    one.length === other.length &&
    one.every((source, index) => {
      const before = other[index]!;
      if (source === before) return true;
      const [problem] = source.problems;
      return (
        problem !== undefined &&
        source.path === before.path &&
        problem.message === before.problems[0]?.message
      );
    })
  );
}

/** The text of a file, or why there is none. `isGone`: there is no such file any more. */
type TextReading = { readonly text: string } | { readonly problem: string } | { readonly isGone: true };

/**
 * Reads a file of at most `limit` bytes, `real` being its path behind all links. Rejects for nothing that a file can
 * be.
 */
async function readText(real: string, limit: number): Promise<TextReading> {
  try {
    // Not following a link that came since the look.
    return await readTextFile(real, limit, constants.O_NOFOLLOW);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return { isGone: true };
    if (isSystemError(error)) return { problem: `cannot be read (${error.code})` };
    throw error;
  }
}
