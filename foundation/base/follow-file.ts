import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isSystemError } from './durable-file.ts';
import { messageOf } from './failure.ts';
import { followStates, wayTo } from './follow.ts';

/** A file that is followed. */
export interface FileToFollow {
  readonly path: string;
  /**
   * Takes over what the file says, as UTF-8; `undefined` when there is none. Waited for at first, so that what it
   * throws is thrown by `followFile`; later that goes to `onFailure`, and the last good content should stay in force.
   */
  readonly onChange: (text: string | undefined) => void | Promise<void>;
  /** The file cannot be read, or `onChange` has thrown. Not told again until something else happens. Must not throw. */
  readonly onFailure: (error: Error) => void;
  /** Ends it. In a plugin: `scope.signal`. */
  readonly signal: AbortSignal;
  /** A larger file is a failure. Default 1 MiB. */
  readonly maxBytes?: number;
}

const MAX_BYTES = 1024 * 1024;
/** A content counts when two readings this many milliseconds apart agree. */
const SETTLE_MS = 100;
/** Between readings without any notice of the file system. */
const POLL_MS = 2_000;

/** One look at the file. Without text and failure there is none. */
interface Reading {
  readonly text?: string;
  readonly failure?: Error;
  /** Of the write that the text is from: an empty file between two writes is no settled one. */
  readonly writtenAt?: bigint;
}

/**
 * Reads a file now, and again after each change until the signal aborts: edits in place, replaced files, swapped links
 * (a Kubernetes ConfigMap), creation and deletion, also where the file system gives no notice. A half-written file is
 * not reported, nor one that says what it said before.
 *
 * @throws Error at first, when the file cannot be read or is too large, or what `onChange` throws
 *
 * @example
 * await followFile({
 *   path: config.wordList,
 *   onChange: (text) => { words = parse(text ?? ''); },
 *   onFailure: (err) => log.warn({ err }, 'the word list stays as it was'),
 *   signal: scope.signal,
 * });
 */
export async function followFile(file: FileToFollow): Promise<void> {
  const { path, onChange, onFailure, signal, maxBytes = MAX_BYTES } = file;
  const first = await read(path, maxBytes);
  if (first.failure !== undefined) throw first.failure;
  await onChange(first.text);
  let known = first.text;
  let told: string | undefined;

  function fail(error: unknown): void {
    const message = messageOf(error);
    if (message === told) return;
    told = message;
    onFailure(error instanceof Error ? error : new Error(message));
  }

  followStates<Reading>({
    look: async () => ({ states: new Map([[path, await read(path, maxBytes)]]), targets: await wayTo(path) }),
    known: [[path, first]],
    async onChange(_, { text, failure } = {}) {
      if (failure !== undefined) return fail(failure);
      if (text === known && told === undefined) return;
      try {
        await onChange(text);
        known = text;
        told = undefined;
      } catch (error) {
        fail(error);
      }
    },
    onFailure: fail,
    signal,
    settle: SETTLE_MS,
    poll: POLL_MS,
  });
}

/** Without waiting for what is no file, as a pipe that nobody writes to. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

async function read(path: string, maxBytes: number): Promise<Reading> {
  try {
    await using handle = await open(path, FLAGS);
    const status = await handle.stat({ bigint: true });
    if (!status.isFile()) return { failure: new Error(`${path} is no file`) };
    if (status.size > maxBytes) return { failure: new Error(`${path} has more than ${maxBytes} bytes`) };
    // What is being written goes on; it is read again then.
    const content = Buffer.alloc(Number(status.size));
    const { bytesRead } = await handle.read(content, { position: 0 });
    return { text: content.toString('utf8', 0, bytesRead), writtenAt: status.mtimeNs };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return {};
    return { failure: new Error(`${path} cannot be read (${error.code})`, { cause: error }) };
  }
}
