import {
  type Clock,
  type Database,
  type Logger,
  TransientMap,
  TransientSet,
  throttledLog,
  within,
} from 'agent-gateway';
import { type TaskRow, TaskTable } from '../../store/tables.ts';

/** Concurrent writes; each writes the waiting tasks of one tenant. */
const WRITERS = 64;
/** Waiting tasks at most; further ones are dropped. */
const MAX_WAITING = 4_096;
/** Tasks of one write. */
const BATCH = 64;
/** Milliseconds after which a write is abandoned. */
const GIVE_UP_MS = 5_000;
/** Milliseconds for which tasks are collected, so that they are written together. */
const GATHER_MS = 50;

/** The metrics of the writer. */
export interface WriterMetrics {
  /** The pool was full. */
  dropped(tasks: number): void;
  /** Not written in time, or not at all. */
  failed(tasks: number): void;
}

export type TaskWriter = ReturnType<typeof createTaskWriter>;

/** Writes the results of runs, outside of the requests to which they belong. */
export function createTaskWriter(parts: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  readonly metrics: WriterMetrics;
}) {
  const { database, clock, log, metrics } = parts;
  const waiting = new TransientMap<string, TaskRow[]>();
  const underWay = new TransientSet<Promise<void>>();
  let size = 0;
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  const logFailure = throttledLog<unknown>(clock, (err, count) =>
    log.warn({ err, count }, 'what came of runs of agents was not recorded'),
  );

  async function store(tenantId: string, batch: readonly TaskRow[]): Promise<void> {
    try {
      await within(
        GIVE_UP_MS,
        'the recording of runs',
        database.forTenant(tenantId).insertMany(TaskTable, batch),
      );
    } catch (err) {
      metrics.failed(batch.length);
      logFailure(err);
    }
  }

  /** The tasks of the tenant that has waited longest; those beyond one batch go behind the other tenants. */
  function nextBatch(): readonly [string, readonly TaskRow[]] | undefined {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [tenantId, tasks] = first;
    waiting.delete(tenantId);
    const batch = tasks.splice(0, BATCH);
    if (tasks.length > 0) waiting.set(tenantId, tasks);
    size -= batch.length;
    return [tenantId, batch];
  }

  function pump(): void {
    timer = undefined;
    while (underWay.size < WRITERS) {
      const next = nextBatch();
      if (next === undefined) return;
      const write = store(...next).then(() => {
        underWay.delete(write);
        if (size > 0) pump();
      });
      underWay.add(write);
    }
  }

  /** Writes the waiting tasks. Resolves when none is left, or the signal aborts. */
  async function finish(signal: AbortSignal): Promise<void> {
    clearTimeout(timer);
    pump();
    while (underWay.size > 0 && !signal.aborted) await Promise.race(underWay);
  }

  return {
    /**
     * Queues a task without blocking. A task for which there is no room, or that comes after the end, is dropped and
     * counted.
     */
    write(task: TaskRow) {
      if (hasEnded) logFailure(new Error('The run ended after the plugin was stopped or reloaded'));
      if (hasEnded || size >= MAX_WAITING) return metrics.dropped(1);
      const tasks = waiting.get(task.tenantId);
      if (tasks === undefined) waiting.set(task.tenantId, [task]);
      else tasks.push(task);
      size += 1;
      timer ??= setTimeout(pump, GATHER_MS).unref();
    },
    finish,
    /** Writes the waiting tasks, and takes no more: the table goes with the plugin, and runs may end later. */
    [Symbol.asyncDispose](): Promise<void> {
      hasEnded = true;
      return finish(AbortSignal.timeout(GIVE_UP_MS));
    },
  };
}
