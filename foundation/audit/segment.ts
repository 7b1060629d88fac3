import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';

/** A part of a segment, as read: whole lines, and the bytes that they take in the file. */
export interface SegmentPart {
  readonly lines: readonly string[];
  readonly bytes: number;
  /** True when the bytes end with a line that was never finished. */
  readonly isTorn: boolean;
}

/** How much is read at a time. No entry is nearly as long: a line that does not fit is damage. */
const READ_BYTES = 1_048_576;

/**
 * One append-only file of the journal, JSON lines, readable by its owner alone (mode 0600). What `append` has returned
 * from is in the operating system's hands and outlives this process, though not a power cut.
 */
export class Segment {
  readonly path: string;
  #fd: number | undefined;
  #size: number;
  #delivered = 0;

  private constructor(path: string, fd: number | undefined, size: number) {
    this.path = path;
    this.#fd = fd;
    this.#size = size;
  }

  /** A new segment, to append to. Throws where the file cannot be made. */
  static create(path: string): Segment {
    return new Segment(path, openSync(path, 'ax+', 0o600), 0);
  }

  /** A segment that a process left behind. */
  static adopt(path: string): Segment {
    return new Segment(path, undefined, statSync(path).size);
  }

  /** Bytes in the file. */
  get size(): number {
    return this.#size;
  }

  /** Bytes whose records the sink does not have yet. */
  get undelivered(): number {
    return this.#size - this.#delivered;
  }

  get isSealed(): boolean {
    return this.#fd === undefined;
  }

  /** Appends whole lines. Throws when the disk does not take them; then none of them is in the file. */
  append(lines: string): void {
    const fd = this.#fd as number;
    const bytes = Buffer.from(lines);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(fd, bytes, written);
    } catch (error) {
      this.#cutBack(fd);
      throw error;
    }
    this.#size += written;
  }

  /** A full disk may have taken the first half of a line. Where it cannot be removed, nothing is written after it. */
  #cutBack(fd: number): void {
    try {
      if (fstatSync(fd).size !== this.#size) ftruncateSync(fd, this.#size);
    } catch {
      // The failure to write is the one that is reported.
      this.seal();
    }
  }

  /** Reads up to `limit` lines that are not delivered. */
  async read(limit: number): Promise<SegmentPart> {
    const length = Math.min(this.undelivered, READ_BYTES);
    const buffer = Buffer.allocUnsafe(length);
    const file = await open(this.path, 'r');
    try {
      const { bytesRead } = await file.read(buffer, 0, length, this.#delivered);
      const isEnd = bytesRead === this.undelivered || bytesRead === 0;
      return cut(buffer.subarray(0, bytesRead), limit, isEnd);
    } finally {
      await file.close();
    }
  }

  /**
   * What is not delivered of a segment that is being written, read through the open file even when its name is gone.
   */
  readTail(): string {
    if (this.#fd === undefined) return '';
    const buffer = Buffer.alloc(this.undelivered);
    const length = readSync(this.#fd, buffer, 0, buffer.length, this.#delivered);
    return buffer.toString('utf8', 0, length);
  }

  /** Notes that the next `bytes` have reached the sink. */
  settle(bytes: number): void {
    this.#delivered += bytes;
  }

  /** Gives the file's room back; only when everything in it was delivered. */
  empty(): void {
    ftruncateSync(this.#fd as number, 0);
    this.#size = 0;
    this.#delivered = 0;
  }

  /** Ends appending. */
  seal(): void {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Deletes the file; fine when it is gone already. */
  remove(): void {
    this.seal();
    try {
      unlinkSync(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

function cut(buffer: Buffer, limit: number, isEnd: boolean): SegmentPart {
  const lines: string[] = [];
  let start = 0;
  while (lines.length < limit) {
    const end = buffer.indexOf(0x0a, start);
    if (end === -1) {
      const isTorn = start < buffer.length && (isEnd || start === 0);
      return { lines, bytes: isTorn ? buffer.length : start, isTorn };
    }
    lines.push(buffer.toString('utf8', start, end));
    start = end + 1;
  }
  return { lines, bytes: start, isTorn: false };
}
