import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { isSystemError } from '../base/durable-file.ts';
import { parseSourceFile, type SourceFile, unreadable } from './document.ts';
import type { FolderScan, FoundFile } from './folder-scan.ts';
import type { ResourceLimits } from './resources.ts';

/** A file that was read. */
interface Known {
  readonly fingerprint: string;
  readonly hash: string;
  readonly source: SourceFile;
  /** Written so shortly before it was read that a later change could have left the fingerprint as it was. */
  readonly isFresh: boolean;
}

/** What was read of the folder at one time. */
interface FolderReading {
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
export class SourceFiles {
  readonly #limits: ResourceLimits;
  readonly #clock: Clock;
  #known: ReadonlyMap<string, Known> = new Map();
  #all: readonly SourceFile[] = [];

  constructor(limits: ResourceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** In order of their paths; the same array as long as nothing changed. */
  get all(): readonly SourceFile[] {
    return this.#all;
  }

  /** Files that were there, and that the look did not find. */
  missing(scan: FolderScan): readonly string[] {
    const found = new Set(scan.files.map(({ path }) => path));
    return [...this.#known.keys()].filter((path) => !found.has(path) && !scan.refused.has(path));
  }

  /** Reads what changed since the last time. Remembers nothing before `adopt`. */
  async read(scan: FolderScan): Promise<FolderReading> {
    const known = new Map<string, Known>();
    const sources = [...scan.refused].map(([path, reason]) => unreadable(path, reason));
    let documents = 0;
    let isTorn = false;
    const most = this.#limits.documents;
    const files = this.#withinBytes(scan.files, sources);
    for (let start = 0; start < files.length; start += AT_ONCE) {
      const some = files.slice(start, start + AT_ONCE);
      for (const [index, read] of (await Promise.all(some.map((file) => this.#read(file)))).entries()) {
        const { path } = some[index]!;
        if (read === undefined) {
          isTorn = true;
          continue;
        }
        known.set(path, read);
        documents += read.source.documents.length;
        if (documents <= most) sources.push(read.source);
        else sources.push(unreadable(path, `is beyond ${most} documents in all files`));
      }
    }
    sources.sort((a, b) => (a.path < b.path ? -1 : 1));
    return { known, sources, isTorn };
  }

  /** Takes over what was read. Returns whether anything changed. */
  adopt({ known, sources }: FolderReading): boolean {
    this.#known = known;
    if (isSame(sources, this.#all)) return false;
    this.#all = sources;
    return true;
  }

  /** What the files would be with this text in one of them; undefined for without it. Nothing is remembered. */
  with(path: string, text: string | undefined): readonly SourceFile[] {
    const others = this.#all.filter((source) => source.path !== path);
    if (text === undefined) return others;
    return [...others, parseSourceFile(path, text)].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** The files before the limit is reached; the others are not even read. */
  #withinBytes(files: readonly FoundFile[], sources: SourceFile[]): readonly FoundFile[] {
    const { totalBytes } = this.#limits;
    let bytes = 0;
    return files.filter((file) => {
      bytes += file.bytes;
      if (bytes > totalBytes)
        sources.push(unreadable(file.path, `is beyond ${totalBytes} bytes in all files`));
      return bytes <= totalBytes;
    });
  }

  async #read(file: FoundFile): Promise<Known | undefined> {
    const { path, real, fingerprint, modifiedAt } = file;
    const known = this.#known.get(path);
    if (known?.fingerprint === fingerprint && !known.isFresh) return known;
    const isFresh = Math.abs(this.#clock.now() - modifiedAt) < FRESH;
    const reading = await readText(real, this.#limits.fileBytes);
    if ('isGone' in reading) return undefined;
    const content = 'text' in reading ? reading.text : '';
    const hash = 'text' in reading ? createHash('sha256').update(content).digest('base64') : reading.problem;
    const seen = { fingerprint, hash, isFresh };
    if (known?.hash === hash) return { ...seen, source: known.source };
    if ('problem' in reading) return { ...seen, source: unreadable(path, reading.problem) };
    return { ...seen, source: parseSourceFile(path, content) };
  }
}

/** Files are parsed anew when they change, and only then; what could not be looked at is compared by its reason. */
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

/** Reads a file of at most `limit` bytes, `real` being its path behind all links. Rejects for nothing that a file can be. */
async function readText(real: string, limit: number): Promise<TextReading> {
  try {
    // Not following a link that came since the look; non-blocking, or a named pipe would wait for a writer.
    const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const status = await handle.stat();
      if (!status.isFile()) return { problem: 'is not a file' };
      if (status.size > limit) return { problem: `is larger than ${limit} bytes` };
      const buffer = Buffer.allocUnsafe(Math.min(limit, status.size) + 1);
      let length = 0;
      for (let more = 1; more > 0 && length < buffer.length; length += more) {
        more = (await handle.read(buffer, length, buffer.length - length)).bytesRead;
      }
      // It grows under our eyes: the notice of that will bring us here again.
      const bytes = buffer.subarray(0, Math.min(length, status.size));
      return decode(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return { isGone: true };
    if (isSystemError(error)) return { problem: `cannot be read (${error.code})` };
    throw error;
  }
}

function decode(bytes: Buffer): TextReading {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8' };
  }
}
