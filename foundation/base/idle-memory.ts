/** What an idle process is recognized by, and what is done then. */
interface IdleParts {
  /** Collects all that can be and gives it back to the system; stops the process for about 2 ms for each MiB in use. */
  readonly collect: () => void;
  /** Microseconds of processor time so far. */
  readonly cpuTime: () => number;
  /** Bytes in use. */
  readonly heapUsed: () => number;
}

/** Milliseconds between two looks. */
export const LOOK_EVERY_MS = 1_000;
/** Who uses less than this part of a processor is idle. */
const IDLE_SHARE = 0.05;
/** Microseconds of processor time since the last collection that are worth the next one. */
const WORTH = 5_000_000;
/** Bytes: above it the stop would be felt by whoever comes next. */
const MOST_HEAP = 256 * 1024 * 1024;

/**
 * Gives memory back when the process becomes idle: V8 collects when something is allocated, so that a process at rest keeps what its start and the last load
 * have left behind.
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
