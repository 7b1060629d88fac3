import path from 'node:path';
import { backoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Logger } from '../observability/logger.ts';
import { type AuditEntry, type AuditTrailLimits, DEFAULT_LIMITS } from './audit-entry.ts';
import { AuditQueue, Room } from './audit-queue.ts';
import type { AuditSink } from './database-sink.ts';
import { createDelivery, type RefusedEntry } from './delivery.ts';
import { Journal, RejectedFile } from './journal.ts';
import { thisOwner } from './journal-folder.ts';

/** The way of audit records from a request to the database, by way of a journal on the local disk (decisions 1.4). */
export interface AuditTrail {
  /**
   * Takes a record, in some microseconds, and never throws. When the promise resolves, at the end of this turn of the
   * event loop, the record is in the journal: the death of the process (though not of the machine) cannot lose it any more.
   */
  record(entry: AuditEntry): Promise<void>;
  /**
   * `undefined` while there is room. Else a promise for whoever is about to cause a record: it resolves when there is room
   * again, and rejects after `roomDeadline`, or at once when `maxWaiting` wait already.
   */
  room(): Promise<void> | undefined;
  /** Brings everything to the sink now. False when that is not done after `deadline` milliseconds. */
  flush(deadline: number): Promise<boolean>;
  /**
   * Brings to the sink what can be brought in `deadline` milliseconds and ends. The rest stays in the journal for the
   * next start; a record that comes later is lost, counted and logged.
   */
  close(deadline: number): Promise<void>;
  stats(): AuditStats;
}

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
export function createAuditTrail(options: AuditTrailOptions): AuditTrail {
  return new Trail(options);
}

class Trail implements AuditTrail {
  readonly #limits: AuditTrailLimits;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: AuditTrailOptions['log'];
  readonly #journal: Journal;
  readonly #queue: AuditQueue;
  readonly #room: Room;
  readonly #deliver: (entries: readonly AuditEntry[]) => Promise<readonly RefusedEntry[]>;
  readonly #rejected: RejectedFile;
  readonly #heartbeat: NodeJS.Timeout;
  #isRunning = false;
  #isStopped = false;
  #flushing = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #endPause: (() => void) | undefined;
  #failuresInARow = 0;
  #counts = { written: 0, batches: 0, failures: 0, rejected: 0 };
  #closing: Promise<void> | undefined;

  constructor({ sink, directory, clock, ids, log, limits }: AuditTrailOptions) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#clock = clock;
    this.#ids = ids;
    this.#log = log;
    const { segmentBytes, journalBytes, memoryBytes, roomDeadline, maxWaiting, sinkDeadline, heartbeat } =
      this.#limits;
    const id = ids.uuid();
    this.#journal = openJournal({
      directory: path.resolve(directory),
      owner: thisOwner(id),
      segmentBytes,
      log,
    });
    this.#queue = new AuditQueue({
      journal: this.#journal,
      bounds: { journalBytes, memoryBytes },
      clock,
      log,
    });
    this.#room = new Room(roomDeadline, maxWaiting);
    this.#deliver = createDelivery(sink, sinkDeadline).deliver;
    this.#rejected = new RejectedFile(path.join(path.resolve(directory), `${id}.rejected`), log);
    this.#adopt();
    this.#heartbeat = setInterval(() => this.#beat(), heartbeat).unref();
  }

  record(entry: AuditEntry): Promise<void> {
    const kept = this.#queue.add(entry);
    this.#schedule();
    return kept;
  }

  room(): Promise<void> | undefined {
    return this.#queue.isFull && !this.#isStopped ? this.#room.wait() : undefined;
  }

  flush(deadline: number): Promise<boolean> {
    if (this.#queue.isEmpty) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#flushing.delete(end);
        resolve(this.#queue.isEmpty);
      };
      const timer = setTimeout(end, deadline);
      this.#flushing.add(end);
      this.#endPause?.();
      this.#start();
    });
  }

  close(deadline: number): Promise<void> {
    this.#closing ??= this.flush(deadline).then(() => this.#end());
    return this.#closing;
  }

  stats(): AuditStats {
    const { records, spooledBytes, lost } = this.#queue;
    return { ...this.#counts, queued: records, spooledBytes, lost, waiting: this.#room.waiting };
  }

  /** Begins a batch when there is enough for one, or else after `batchDelay`. */
  #schedule(): void {
    if (this.#isRunning || this.#isStopped) return;
    if (this.#isWorthIt()) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), this.#limits.batchDelay).unref();
  }

  #isWorthIt(): boolean {
    const { records, adoptedBytes, isEmpty } = this.#queue;
    return records >= this.#limits.batchSize || adoptedBytes > 0 || (this.#flushing.size > 0 && !isEmpty);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    // Not in the turn of the request that completed the batch.
    setImmediate(() => this.#run());
  }

  async #run(): Promise<void> {
    do {
      try {
        await this.#writeBatch();
      } catch (error) {
        if (!this.#isStopped) await this.#failed(error);
      }
    } while (!this.#isStopped && (this.#failuresInARow > 0 || this.#isWorthIt()));
    this.#isRunning = false;
    if (!this.#queue.isEmpty) this.#schedule();
  }

  async #writeBatch(): Promise<void> {
    const batch = await this.#queue.take(this.#limits.batchSize);
    const refused = await this.#deliver(batch.entries);
    // After the end the journal belongs to the next start; writing the same again does no harm.
    if (this.#isStopped) return;
    this.#succeeded();
    await this.#reject(refused, batch.damaged);
    batch.settle();
    this.#counts.batches += 1;
    this.#counts.written += batch.entries.length - refused.length;
    if (this.#queue.hasRoom) this.#room.open();
    if (this.#queue.isEmpty) for (const end of [...this.#flushing]) end();
  }

  #succeeded(): void {
    if (this.#failuresInARow === 0) return;
    this.#log.info({ failures: this.#failuresInARow }, 'audit records reach the database again');
    this.#failuresInARow = 0;
  }

  async #failed(error: unknown): Promise<void> {
    this.#counts.failures += 1;
    this.#failuresInARow += 1;
    if (this.#failuresInARow === 1) {
      this.#log.warn(
        { err: error },
        'audit records cannot be written to the database: they wait in the journal',
      );
    }
    const random = this.#ids.bytes(1).readUInt8(0) / 255;
    await this.#pause(backoffDelay(this.#failuresInARow, this.#limits.backoff, random));
  }

  #pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#endPause = undefined;
        resolve();
      };
      const timer = setTimeout(end, delay).unref();
      this.#endPause = end;
    });
  }

  /** Sets aside what the sink will never take. */
  async #reject(refused: readonly RefusedEntry[], damaged: readonly string[]): Promise<void> {
    if (refused.length + damaged.length === 0) return;
    this.#counts.rejected += refused.length + damaged.length;
    if (await this.#rejected.add(refused, damaged)) return;
    this.#queue.lose(
      refused.map(({ entry }) => entry),
      'the database refused it and it could not be set aside',
    );
  }

  #beat(): void {
    try {
      this.#journal.heartbeat(new Date(this.#clock.now()));
      this.#adopt();
    } catch (error) {
      this.#log.error({ err: error }, 'audit journal: the directory cannot be kept up');
    }
  }

  #adopt(): void {
    const bytes = this.#journal.adoptAbandoned(this.#clock.now());
    if (bytes === 0) return;
    this.#log.info({ bytes }, 'audit journal: records of an earlier process are brought to the database');
    this.#schedule();
  }

  #end(): void {
    this.#isStopped = true;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
    this.#endPause?.();
    this.#room.open();
    const { records, spooledBytes } = this.#queue;
    this.#queue.close();
    if (spooledBytes > 0) {
      this.#log.warn(
        { records, bytes: spooledBytes },
        'audit records wait in the journal for the next start',
      );
    }
  }
}

function openJournal(options: ConstructorParameters<typeof Journal>[0]): Journal {
  try {
    return new Journal(options);
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(`The audit journal cannot be kept in ${options.directory}: ${reason}`, { cause: error });
  }
}
