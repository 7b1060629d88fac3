import { Readable } from 'node:stream';
import { isUnchanged, type OpenFile } from './folder.ts';

/** Bytes that are read at one time: all that a download keeps in memory. */
const PIECE = 64 * 1024;
/** Milliseconds after which the connection of a client that takes no byte is closed. */
const STANDSTILL = 60_000;

/** How a file is read. */
interface FileBodyOptions {
  /** First and last byte; the last is before the first where the body is empty. */
  readonly start: number;
  readonly end: number;
  /** Milliseconds; for tests. Default a minute. */
  readonly standstill?: number;
}

/**
 * The bytes of an open file, or a range of them; closes the file at its end. Where the file was written meanwhile, the
 * stream fails before its last piece, and the connection with it, so that no client keeps a mix of two versions. The
 * stream also fails when the client takes no piece for a minute.
 */
export class FileBody extends Readable {
  readonly #file: OpenFile;
  readonly #end: number;
  readonly #standstill: number;
  #position: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(file: OpenFile, { start, end, standstill = STANDSTILL }: FileBodyOptions) {
    super({ highWaterMark: PIECE });
    this.#file = file;
    this.#position = start;
    this.#end = end;
    this.#standstill = standstill;
  }

  override _read(): void {
    clearTimeout(this.#timer);
    this.#next().then(
      (piece) => {
        // The timer runs until the reader asks for the next piece.
        if (piece !== null) this.#watch();
        this.push(piece);
      },
      (failure: Error) => this.destroy(failure),
    );
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#file.handle.close().then(
      () => done(error),
      (failure: Error) => done(error ?? failure),
    );
  }

  #watch(): void {
    const overdue = () =>
      this.destroy(new Error(`${this.#file.name} was not read for ${this.#standstill} ms`));
    this.#timer = setTimeout(overdue, this.#standstill);
  }

  async #next(): Promise<Buffer | null> {
    const left = this.#end - this.#position + 1;
    if (left <= 0) return null;
    const { handle, name } = this.#file;
    const { bytesRead, buffer } = await handle.read({
      buffer: Buffer.allocUnsafe(Math.min(left, PIECE)),
      position: this.#position,
    });
    const isLast = bytesRead === left;
    if (bytesRead === 0 || (isLast && !(await isUnchanged(this.#file)))) {
      throw new Error(`${name} was changed while it was sent`);
    }
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }
}
