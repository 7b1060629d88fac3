import { write, writeSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';

/** Where log lines go. */
export interface LogDestination {
  /** Takes one line with its line break; returns at once, never throws. */
  write(line: string): void;
  /** Resolves when everything was written, or could not be within a second. */
  flush(): Promise<void>;
  /** Writes what is buffered before it returns, within a second: for the end of a crashing process. */
  flushSync(): void;
  /** Lines that were lost since the start. */
  droppedLines(): number;
}

/** Where and how much `createLogDestination` buffers. */
export interface LogDestinationOptions {
  /** File descriptor, open for writing. */
  readonly descriptor: number;
  readonly clock: Clock;
  /** Bytes that wait while the reader of the output stands still; default 4 MiB. */
  readonly maxBufferedBytes?: number;
  /** Called when lines were lost and the output moves again, with their number since the last call. */
  readonly onRecovered: (lostLines: number) => void;
}

/**
 * Buffers lines and writes them off the event loop, at 8 KiB or after 250 ms, one write at a time. When the reader
 * stands still, or a disk is full, the buffer fills up to its bound, and from then on new lines are dropped and counted: a log must
 * neither stop the gateway nor take its memory. What is buffered when the process exits is written then.
 *
 * pino's own destination is not used: its `flushSync` never ends when the output is closed or its disk full.
 */
export function createLogDestination(options: LogDestinationOptions): LogDestination {
  const destination = new BufferedDestination(options);
  process.once('exit', () => destination.flushSync());
  return destination;
}

const WRITE_AT_BYTES = 32_768;
const FLUSH_MILLISECONDS = 250;
const RETRY_MILLISECONDS = 100;
const STUCK_MILLISECONDS = 500;
const FLUSH_DEADLINE_MILLISECONDS = 1000;

/** Lines that are being written, and how far. */
interface Chunk {
  readonly bytes: Buffer;
  readonly lines: number;
  offset: number;
}

class BufferedDestination implements LogDestination {
  readonly #descriptor: number;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #onRecovered: (lostLines: number) => void;
  #lines: string[] = [];
  /** Bytes of `#lines`. */
  #bytes = 0;
  #chunk: Chunk | undefined;
  #isWriting = false;
  /** Monotonic milliseconds, while `#isWriting`. */
  #writingSince = 0;
  /** The last write failed: the timer tries again, not every line. */
  #isFailing = false;
  /** The reader is gone for good. */
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  #reported = 0;
  #whenEmpty: (() => void)[] = [];

  constructor({ descriptor, clock, maxBufferedBytes = 4 * 1024 * 1024, onRecovered }: LogDestinationOptions) {
    this.#descriptor = descriptor;
    this.#clock = clock;
    this.#maxBytes = maxBufferedBytes;
    this.#onRecovered = onRecovered;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    const waiting = this.#bytes + (this.#chunk?.bytes.length ?? 0);
    if (this.#isClosed || waiting + bytes > this.#maxBytes) {
      this.#dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    if (this.#bytes >= WRITE_AT_BYTES && !this.#isFailing) this.#writeNext();
    else this.#writeAfter(FLUSH_MILLISECONDS);
  }

  async flush(): Promise<void> {
    this.#writeNext();
    if (this.#isEmpty) return;
    await new Promise<void>((resolve) => {
      const deadline = setTimeout(resolve, FLUSH_DEADLINE_MILLISECONDS);
      this.#whenEmpty.push(() => {
        clearTimeout(deadline);
        resolve();
      });
    });
  }

  flushSync(): void {
    const now = this.#clock.monotonic();
    const giveUpAt = now + FLUSH_DEADLINE_MILLISECONDS;
    if (this.#isWriting) {
      // The reader stands still; a synchronous write could wait for it for ever.
      if (now - this.#writingSince > STUCK_MILLISECONDS) return;
      // A write that is under way cannot be taken back, and how far it is is not known: it gets a moment to end.
      sleep(20);
    }
    const chunk = this.#isWriting ? this.#takeLines() : this.#nextChunk();
    while (chunk !== undefined && chunk.offset < chunk.bytes.length) {
      try {
        chunk.offset += writeSync(this.#descriptor, chunk.bytes, chunk.offset);
      } catch (error) {
        if (!isBusy(error) || this.#clock.monotonic() >= giveUpAt) {
          this.#dropped += chunk.lines;
          break;
        }
        sleep(10);
      }
    }
    if (!this.#isWriting) this.#chunk = undefined;
  }

  droppedLines(): number {
    return this.#dropped;
  }

  get #isEmpty(): boolean {
    return this.#chunk === undefined && this.#lines.length === 0;
  }

  #takeLines(): Chunk | undefined {
    if (this.#lines.length === 0) return undefined;
    const chunk = { bytes: Buffer.from(this.#lines.join('')), lines: this.#lines.length, offset: 0 };
    this.#lines = [];
    this.#bytes = 0;
    return chunk;
  }

  #nextChunk(): Chunk | undefined {
    this.#chunk ??= this.#takeLines();
    return this.#chunk;
  }

  #writeAfter(milliseconds: number): void {
    if (this.#timer !== undefined || this.#isWriting) return;
    this.#timer = setTimeout(() => this.#writeNext(), milliseconds);
    this.#timer.unref();
  }

  #writeNext(): void {
    if (this.#isWriting) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const chunk = this.#nextChunk();
    if (chunk === undefined) return;
    this.#isWriting = true;
    this.#writingSince = this.#clock.monotonic();
    const { bytes, offset } = chunk;
    write(this.#descriptor, bytes, offset, bytes.length - offset, null, (error, written) => {
      this.#isWriting = false;
      if (error) this.#failed(error);
      else this.#wrote(chunk, written);
    });
  }

  #wrote(chunk: Chunk, written: number): void {
    this.#isFailing = false;
    chunk.offset += written;
    if (chunk.offset === chunk.bytes.length) this.#chunk = undefined;
    if (this.#dropped > this.#reported) {
      const lost = this.#dropped - this.#reported;
      this.#reported = this.#dropped;
      this.#onRecovered(lost);
    }
    if (this.#isEmpty) this.#notifyEmpty();
    else if (this.#chunk !== undefined || this.#bytes >= WRITE_AT_BYTES || this.#whenEmpty.length > 0)
      this.#writeNext();
    else this.#writeAfter(FLUSH_MILLISECONDS);
  }

  #failed(error: NodeJS.ErrnoException): void {
    this.#isFailing = true;
    if (error.code !== 'EPIPE' && error.code !== 'EBADF') {
      // Busy, or a full disk that may get room again: the lines stay, under the same bound.
      this.#writeAfter(RETRY_MILLISECONDS);
      return;
    }
    this.#isClosed = true;
    this.#dropped += this.#lines.length + (this.#chunk?.lines ?? 0);
    this.#lines = [];
    this.#bytes = 0;
    this.#chunk = undefined;
    this.#notifyEmpty();
  }

  #notifyEmpty(): void {
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const notify of waiting) notify();
  }
}

function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EAGAIN' || code === 'EBUSY';
}

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
