import { flushCompileCache } from 'node:module';
import { getHeapStatistics } from 'node:v8';

/** How an idle process is recognized, and what is done then. */
interface IdleParts {
  /** Collects all that can be and gives it back to the system; stops the process for about 2 ms for each MiB in use. */
  readonly collect: () => void;
  /** Microseconds of processor time so far. */
  readonly cpuTime: () => number;
  /** Bytes in use. */
  readonly heapUsed: () => number;
}

/** Milliseconds between two looks. */
const LOOK_EVERY_MS = 1_000;
/** A process that uses less than this part of a processor is idle. */
const IDLE_SHARE = 0.05;
/** Microseconds of processor time since the last collection that are worth the next one. */
const WORTH = 5_000_000;
/** Bytes: above it the next request would notice the stop. */
const MOST_HEAP = 256 * 1024 * 1024;

/**
 * Gives memory back when the process becomes idle: V8 collects when something is allocated, so that a process at rest
 * keeps what its start and the last load have left behind.
 *
 * @returns to be called every `LOOK_EVERY_MS`
 */
export function idleCollection({ collect, cpuTime, heapUsed }: IdleParts): () => void {
  let collectedAt = Number.NEGATIVE_INFINITY;
  let before = cpuTime();
  return () => {
    const now = cpuTime();
    const isIdle = now - before < LOOK_EVERY_MS * 1000 * IDLE_SHARE;
    before = now;
    if (!isIdle || now - collectedAt < WORTH || heapUsed() > MOST_HEAP) return;
    collect();
    collectedAt = now;
  };
}

/**
 * Gives the memory of this process back when it is idle, for as long as it lives: with `--expose-gc`, which `npm start`
 * and the image set.
 */
export function keepSmall(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  const look = idleCollection({
    collect: () => {
      // The collection throws compiled code away as well: the next start is to find it on the disk.
      flushCompileCache();
      void gc({ type: 'major', execution: 'async', flavor: 'last-resort' });
    },
    cpuTime: () => {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    // Not `process.memoryUsage()`, which opens a file and so throws in a process that has no descriptor left: this is
    // called where nobody would catch it.
    heapUsed: () => getHeapStatistics().used_heap_size,
  });
  setInterval(look, LOOK_EVERY_MS).unref();
}

/**
 * V8 collects when something is allocated, so an idle process would keep what large bodies have left behind. Node has a
 * way to ask for it only with `--expose-gc`; without it memory comes back with later requests.
 */
export function collectGarbage(): (() => void) | undefined {
  const { gc } = globalThis;
  return gc === undefined ? undefined : () => void gc({ type: 'major', execution: 'async' });
}
