import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { within } from '../../base/deadline.ts';

/** Pages in the log from which on they are moved: 4 MiB. */
const PAGES = 1_000;
/** Milliseconds after a use of the file until the log is looked at. */
const LOOK_MS = 50;
/** Milliseconds after a failure of the thread until another one may start: its disk may be full for a while. */
const AGAIN_MS = 60_000;
/** Milliseconds that the thread has to end. */
const END_MS = 1_000;
/** It runs a few lines. */
const LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16, stackSizeMb: 1 };
const THREAD = new URL('./checkpoint-thread.js', import.meta.url);

/** What is asked of better-sqlite3's `Database`. */
export interface LogDatabase {
  readonly open: boolean;
  readonly inTransaction: boolean;
  pragma(source: string): unknown;
}

/**
 * Moves the write-ahead log of a SQLite file into the file, in a thread of its own. SQLite itself moves it when the log
 * has `wal_autocheckpoint` pages, at the end of the transaction that made it so long; the whole process then waits for
 * the disk, for ten milliseconds on a good one. What the thread has moved before does not have to be moved then. It
 * starts with the first log of 4 MiB, and again after a failure; without it all works as SQLite does.
 */
export interface Checkpoints {
  /** The file is used: the log is looked at, soon. Takes no time. */
  used(): void;
  /** Ends the thread. Before the last connection is closed: that one moves all that is left. */
  close(): Promise<void>;
}

export function createCheckpoints(parts: {
  /** Absolute path. */
  readonly file: string;
  readonly database: LogDatabase;
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds that the thread waits for a lock. */
  readonly busyMs: number;
  /** Milliseconds after a failure until the thread may start again; default a minute. */
  readonly againMs?: number;
}): Checkpoints {
  const { file, database, log, busyMs, againMs = AGAIN_MS } = parts;
  let timer: NodeJS.Timeout | undefined;
  let thread: Worker | undefined;
  let resting: NodeJS.Timeout | undefined;
  let isMoving = false;
  let isOver = false;

  /** Pages of the log that are not in the file; undefined while the connection is in use. */
  function waitingPages(): number | undefined {
    if (database.inTransaction) return undefined;
    try {
      const [found] = database.pragma('wal_checkpoint(noop)') as [{ log: number; checkpointed: number }];
      return found.log - found.checkpointed;
    } catch {
      // A reader steps through rows of the one connection.
      return undefined;
    }
  }

  function start(): Worker {
    // The very library of the connection: two of them in one process would take each other's locks away.
    const library = createRequire(import.meta.resolve('@mikro-orm/sqlite')).resolve('better-sqlite3');
    const started = new Worker(THREAD, {
      workerData: { file, library, busyMs },
      execArgv: [],
      resourceLimits: LIMITS,
    });
    started.unref();
    started.on('message', () => {
      isMoving = false;
    });
    started.on('error', (err) => {
      thread = undefined;
      isMoving = false;
      if (isOver) return;
      log.warn({ err, file }, 'the log of the database file is moved by the process itself for a while');
      resting = setTimeout(() => {
        resting = undefined;
        used();
      }, againMs).unref();
    });
    return started;
  }

  function look(): void {
    timer = undefined;
    if (isOver || isMoving || resting !== undefined || !database.open) return;
    const pages = waitingPages();
    if (pages === undefined) used();
    else if (pages >= PAGES) {
      isMoving = true;
      thread ??= start();
      thread.postMessage(false);
    }
  }

  function used(): void {
    if (!isOver && resting === undefined) timer ??= setTimeout(look, LOOK_MS).unref();
  }

  return {
    used,
    async close() {
      clearTimeout(timer);
      clearTimeout(resting);
      const isClosed = isOver;
      isOver = true;
      if (thread === undefined || isClosed) return;
      const ending = thread;
      ending.ref();
      const ended = once(ending, 'exit');
      ending.postMessage(true);
      await within(END_MS, 'the thread of the log', ended).catch(() => ending.terminate());
    },
  };
}
