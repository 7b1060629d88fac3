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
  /** Bytes that wait while the reader of the output does not read; default 4 MiB. */
  readonly maxBufferedBytes?: number;
  /** Called when lines were lost and the output moves again, with their number since the last call. */
  readonly onRecovered: (lostLines: number) => void;
}

/**
 * Buffers lines and writes them off the event loop, at 32 KiB or after 250 ms, one write at a time. When the reader
 * does not read, or a disk is full, the buffer fills up to its bound, and from then on new lines are dropped and
 * counted: a log must neither stop the gateway nor take its memory. What is buffered when the process exits is written
 * then.
 *
 * pino's own destination is not used: its `flushSync` never ends when the output is closed or its disk full.
 */
export function createLogDestination({
  descriptor,
  clock,
  maxBufferedBytes: maxBytes = 4 * 1024 * 1024,
  onRecovered,
}: LogDestinationOptions): LogDestination {
  let queued: string[] = [];
  /** Bytes of `queued`. */
  let queuedBytes = 0;
  let current: Chunk | undefined;
  let isWriting = false;
  /** Monotonic milliseconds, while `isWriting`. */
  let writingSince = 0;
  /** The last write failed: the timer tries again, not every line. */
  let isFailing = false;
  /** The reader is gone for good. */
  let isClosed = false;
  let isWatching = false;
  let timer: NodeJS.Timeout | undefined;
  let lost = 0;
  let reported = 0;
  let whenEmpty: (() => void)[] = [];

  function isEmpty(): boolean {
    return current === undefined && queued.length === 0;
  }

  function takeLines(): Chunk | undefined {
    if (queued.length === 0) return undefined;
    const chunk = { bytes: Buffer.from(queued.join('')), lines: queued.length, offset: 0 };
    queued = [];
    queuedBytes = 0;
    return chunk;
  }

  function nextChunk(): Chunk | undefined {
    current ??= takeLines();
    return current;
  }

  function writeAfter(milliseconds: number): void {
    if (timer !== undefined || isWriting) return;
    timer = setTimeout(() => writeNext(), milliseconds);
    timer.unref();
  }

  function writeNext(): void {
    if (isWriting) return;
    clearTimeout(timer);
    timer = undefined;
    const chunk = nextChunk();
    if (chunk === undefined) return;
    isWriting = true;
    writingSince = clock.monotonic();
    const { bytes, offset } = chunk;
    write(descriptor, bytes, offset, bytes.length - offset, null, (error, written) => {
      isWriting = false;
      if (error) failed(error);
      else wrote(chunk, written);
    });
  }

  function wrote(chunk: Chunk, written: number): void {
    isFailing = false;
    chunk.offset += written;
    if (chunk.offset === chunk.bytes.length) current = undefined;
    if (lost > reported) {
      const count = lost - reported;
      reported = lost;
      onRecovered(count);
    }
    if (isEmpty()) notifyEmpty();
    else if (current !== undefined || queuedBytes >= WRITE_AT_BYTES || whenEmpty.length > 0) writeNext();
    else writeAfter(FLUSH_MILLISECONDS);
  }

  function failed(error: NodeJS.ErrnoException): void {
    isFailing = true;
    if (error.code !== 'EPIPE' && error.code !== 'EBADF') {
      // Busy, or a full disk that may get room again: the lines stay, under the same bound.
      writeAfter(RETRY_MILLISECONDS);
      return;
    }
    isClosed = true;
    lost += queued.length + (current?.lines ?? 0);
    queued = [];
    queuedBytes = 0;
    current = undefined;
    notifyEmpty();
  }

  /**
   * What waits is written when the process ends. Where nothing does, there is no listener: a process has many logs in
   * tests, and some are never closed.
   */
  function watchExit(): void {
    if (isWatching) return;
    isWatching = true;
    process.once('exit', flushSync);
  }

  function notifyEmpty(): void {
    process.off('exit', flushSync);
    isWatching = false;
    const waiting = whenEmpty;
    whenEmpty = [];
    for (const notify of waiting) notify();
  }

  function flushSync(): void {
    const now = clock.monotonic();
    const giveUpAt = now + FLUSH_DEADLINE_MILLISECONDS;
    if (isWriting) {
      // The reader does not read; a synchronous write could wait for it for ever.
      if (now - writingSince > STUCK_MILLISECONDS) return;
      // A write that is under way cannot be taken back, and how far it is is not known: it gets a moment to end.
      sleep(20);
    }
    const chunk = isWriting ? takeLines() : nextChunk();
    while (chunk !== undefined && chunk.offset < chunk.bytes.length) {
      try {
        chunk.offset += writeSync(descriptor, chunk.bytes, chunk.offset);
      } catch (error) {
        if (!isBusy(error) || clock.monotonic() >= giveUpAt) {
          lost += chunk.lines;
          break;
        }
        sleep(10);
      }
    }
    if (!isWriting) current = undefined;
  }

  return {
    flushSync,
    write(line: string): void {
      const bytes = Buffer.byteLength(line);
      const waiting = queuedBytes + (current?.bytes.length ?? 0);
      if (isClosed || waiting + bytes > maxBytes) {
        lost += 1;
        return;
      }
      watchExit();
      queued.push(line);
      queuedBytes += bytes;
      if (queuedBytes >= WRITE_AT_BYTES && !isFailing) writeNext();
      else writeAfter(FLUSH_MILLISECONDS);
    },

    async flush(): Promise<void> {
      writeNext();
      if (isEmpty()) return;
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(resolve, FLUSH_DEADLINE_MILLISECONDS);
        whenEmpty.push(() => {
          clearTimeout(deadline);
          resolve();
        });
      });
    },

    droppedLines(): number {
      return lost;
    },
  };
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

function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EAGAIN' || code === 'EBUSY';
}

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
