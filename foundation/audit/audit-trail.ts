import path from 'node:path';
import { backoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Logger } from '../observability/logger.ts';
import { type AuditEntry, type AuditTrailLimits, DEFAULT_LIMITS } from './audit-entry.ts';
import { createAuditQueue, createRoom } from './audit-queue.ts';
import type { AuditSink } from './database-sink.ts';
import { createDelivery, type RefusedEntry } from './delivery.ts';
import {
  createJournal,
  createRejectedFile,
  forgetRejected,
  type Journal,
  type JournalOptions,
  rejectedFile,
} from './journal.ts';
import { thisOwner } from './journal-folder.ts';

/** The way of audit records from a request to the database, by way of a journal on the local disk (decisions 1.4). */
export type AuditTrail = ReturnType<typeof createAuditTrail>;

/** Figures for metrics. Those that only grow count from the start of the process. */
export interface AuditStats {
  /** Records of this process that are not in the sink yet. */
  readonly queued: number;
  /** Bytes in the journal that are not in the sink yet, those of earlier processes included. */
  readonly spooledBytes: number;
  /** Requests that wait for room. */
  readonly waiting: number;
  /** Records that reached the sink. */
  readonly written: number;
  readonly batches: number;
  /** Batches that the sink did not take; each is tried again. */
  readonly failures: number;
  /** Records that the sink will never take; they are in the `.rejected` file. */
  readonly rejected: number;
  /** Records that neither sink nor disk nor memory took. */
  readonly lost: number;
}

/** What an audit trail needs. */
export interface AuditTrailOptions {
  readonly sink: AuditSink;
  /** Where the journal is kept; made when missing. Processes may share it. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly limits?: Partial<AuditTrailLimits>;
}

/**
 * Starts an audit trail. Journals that earlier processes left in the directory are brought to the sink first.
 *
 * @throws Error naming the directory, where no journal can be kept in it.
 */
export function createAuditTrail(options: AuditTrailOptions) {
  const { sink, clock, ids, log } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const enough = Math.min(limits.batchFrom, limits.batchSize);
  const directory = path.resolve(options.directory);
  const id = ids.uuid();
  const journal = openJournal({ directory, owner: thisOwner(id), segmentBytes: limits.segmentBytes, log });
  const queue = createAuditQueue(journal, limits, clock, log);
  const callers = createRoom(limits.roomDeadline, limits.maxWaiting);
  const deliver = createDelivery(sink, limits.sinkDeadline);
  const rejected = createRejectedFile(rejectedFile(directory, id), log);
  let isRunning = false;
  let isStopped = false;
  const flushing = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  let endPause: (() => void) | undefined;
  let failuresInARow = 0;
  const counts = { written: 0, batches: 0, failures: 0, rejected: 0 };
  let closing: Promise<void> | undefined;

  /** Brings everything to the sink now. False when that is not done after `deadline` milliseconds. */
  function flush(deadline: number): Promise<boolean> {
    if (queue.isEmpty) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(overdue);
        flushing.delete(end);
        resolve(queue.isEmpty);
      };
      const overdue = setTimeout(end, deadline);
      flushing.add(end);
      endPause?.();
      start();
    });
  }

  /** Begins a batch when there is enough for one, or else after `batchDelay`. */
  function schedule(): void {
    if (isRunning || isStopped) return;
    if (isWorthIt()) start();
    else timer ??= setTimeout(() => start(), limits.batchDelay).unref();
  }

  function isWorthIt(): boolean {
    const { records, adoptedBytes, isEmpty } = queue;
    return records >= enough || adoptedBytes > 0 || (flushing.size > 0 && !isEmpty);
  }

  function start(): void {
    clearTimeout(timer);
    timer = undefined;
    if (isRunning || isStopped) return;
    isRunning = true;
    // Not in the turn of the request that completed the batch.
    setImmediate(() => runBatches());
  }

  async function runBatches(): Promise<void> {
    do {
      try {
        await writeBatch();
      } catch (error) {
        if (!isStopped) await failed(error);
      }
    } while (!isStopped && (failuresInARow > 0 || isWorthIt()));
    isRunning = false;
    if (!queue.isEmpty) schedule();
  }

  function batchLimit(): number {
    const { records, adoptedBytes } = queue;
    if (records < enough || adoptedBytes > 0) return limits.batchSize;
    return Math.min(limits.batchSize, records - (records % enough));
  }

  async function writeBatch(): Promise<void> {
    const batch = await queue.take(batchLimit());
    const refused = await deliver(batch.entries);
    // After the end the journal belongs to the next start; writing the same again does no harm.
    if (isStopped) return;
    succeeded();
    await setAside(refused, batch.damaged);
    batch.settle();
    counts.batches += 1;
    counts.written += batch.entries.length - refused.length;
    if (queue.hasRoom) callers.open();
    if (queue.isEmpty) for (const end of [...flushing]) end();
  }

  function succeeded(): void {
    if (failuresInARow === 0) return;
    log.info({ failures: failuresInARow }, 'audit records reach the database again');
    failuresInARow = 0;
  }

  async function failed(error: unknown): Promise<void> {
    counts.failures += 1;
    failuresInARow += 1;
    if (failuresInARow === 1) {
      log.warn({ err: error }, 'audit records cannot be written to the database: they wait in the journal');
    }
    const random = ids.bytes(1).readUInt8(0) / 255;
    await pause(backoffDelay(failuresInARow, limits.backoff, random));
  }

  function pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(over);
        endPause = undefined;
        resolve();
      };
      const over = setTimeout(end, delay).unref();
      endPause = end;
    });
  }

  /** Sets aside what the sink will never take. */
  async function setAside(refused: readonly RefusedEntry[], damaged: readonly string[]): Promise<void> {
    if (refused.length + damaged.length === 0) return;
    counts.rejected += refused.length + damaged.length;
    if (await rejected.add(refused, damaged)) return;
    queue.lose(
      refused.map(({ entry }) => entry),
      'the database refused it and it could not be set aside',
    );
  }

  function beat(): void {
    try {
      journal.heartbeat(new Date(clock.now()));
      adopt();
    } catch (error) {
      log.error({ err: error }, 'audit journal: the directory cannot be kept up');
    }
  }

  function adopt(): void {
    const bytes = journal.adoptAbandoned(clock.now());
    if (bytes === 0) return;
    log.info({ bytes }, 'audit journal: records of an earlier process are brought to the database');
    schedule();
  }

  function finish(): void {
    isStopped = true;
    clearInterval(heartbeat);
    clearTimeout(timer);
    endPause?.();
    callers.open();
    const { records, spooledBytes } = queue;
    queue.close();
    if (spooledBytes > 0) {
      log.warn({ records, bytes: spooledBytes }, 'audit records wait in the journal for the next start');
    }
  }

  adopt();
  const heartbeat = setInterval(beat, limits.heartbeat).unref();

  return {
    flush,

    /**
     * Takes a record, in some microseconds, and never throws. When the promise resolves, at the end of this turn of the
     * event loop, the record is in the journal: the death of the process (though not of the machine) cannot lose it any
     * more.
     */
    record(entry: AuditEntry): Promise<void> {
      const kept = queue.add(entry);
      schedule();
      return kept;
    },

    /**
     * `undefined` while there is room. Else a promise for the caller that is about to cause a record: it resolves when
     * there is room again, and rejects after `roomDeadline`, or at once when `maxWaiting` wait already.
     */
    room(): Promise<void> | undefined {
      return queue.isFull && !isStopped ? callers.wait() : undefined;
    },

    /**
     * Brings to the sink what can be brought in `deadline` milliseconds and ends. The rest stays in the journal for the
     * next start; a record that comes later is lost, counted and logged.
     */
    close(deadline: number): Promise<void> {
      closing ??= flush(deadline).then(() => finish());
      return closing;
    },

    /**
     * Deletes records that the database refused, in files to which nothing was added since `before`; how many files
     * there were.
     */
    forgetRejected: (before: Date) => forgetRejected(directory, before),

    stats(): AuditStats {
      const { records, spooledBytes, lost } = queue;
      return { ...counts, queued: records, spooledBytes, lost, waiting: callers.waiting };
    },
  };
}

function openJournal(options: JournalOptions): Journal {
  try {
    return createJournal(options);
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(`The audit journal cannot be kept in ${options.directory} (SVC_DATA_DIR): ${reason}`, {
      cause: error,
    });
  }
}
