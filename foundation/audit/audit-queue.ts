import type { Clock } from '../base/clock.ts';
import { TransientSet } from '../base/transient.ts';
import type { Logger } from '../observability/logger.ts';
import { type AuditEntry, type EncodedEntry, encodeEntry } from './audit-entry.ts';
import type { Journal, JournalBatch } from './journal.ts';

/** Bounds in bytes. Callers are asked to wait from them on; what comes all the same is taken up to twice as much. */
interface AuditQueueBounds {
  readonly journalBytes: number;
  /** For the time in which the disk takes nothing. */
  readonly memoryBytes: number;
}

/** How long the disk is not written to after a write failed. */
const DISK_PAUSE_MS = 1_000;

/** What a turn of the event loop may gather before it is written within the turn. */
const TURN_BYTES = 8_192;

/** How often lost records are logged. */
const LOSS_LOG_MS = 60_000;

/** Room is there again when this much of each bound is free. */
const FREE_SHARE = 0.1;

/** The audit entries that wait for the sink: in the journal, and in memory while the disk fails. */
export function createAuditQueue(
  journal: Journal,
  bounds: AuditQueueBounds,
  clock: Clock,
  log: Pick<Logger, 'info' | 'error'>,
) {
  /** Entries of this turn of the event loop, which go to the journal together. */
  let arrived: EncodedEntry[] = [];
  let arrivedBytes = 0;
  let commit: PromiseWithResolvers<void> | undefined;
  let memory: EncodedEntry[] = [];
  let memoryBytes = 0;
  let diskPausedUntil = Number.NEGATIVE_INFINITY;
  let isDiskFailing = false;
  let isClosed = false;
  let lostCount = 0;
  let lossLoggedAt = Number.NEGATIVE_INFINITY;

  /** Counts and logs entries that are lost for good. */
  function lose(entries: readonly Pick<AuditEntry, 'id'>[], reason: string): void {
    for (const entry of entries) loseOne(entry, reason);
  }

  /** Writes what has arrived; what the disk does not take stays in memory, within its bound. */
  function write(): void {
    const batch = arrived;
    arrived = [];
    arrivedBytes = 0;
    const isWritten = batch.length === 0 || append(batch);
    for (const kept of isWritten ? [] : batch) {
      if (memoryBytes >= 2 * bounds.memoryBytes) loseOne(kept.entry, 'journal and memory are full');
      else {
        memory.push(kept);
        memoryBytes += kept.line.length;
      }
    }
    commit?.resolve();
    commit = undefined;
  }

  /** False when the disk does not take these now. */
  function append(kept: readonly EncodedEntry[]): boolean {
    const now = clock.monotonic();
    if (now < diskPausedUntil || journal.ownBytes >= 2 * bounds.journalBytes) return false;
    try {
      journal.append(kept);
    } catch (error) {
      diskPausedUntil = now + DISK_PAUSE_MS;
      if (!isDiskFailing) {
        log.error({ err: error }, 'audit journal: the disk fails, records are kept in memory');
      }
      isDiskFailing = true;
      return false;
    }
    if (isDiskFailing) {
      isDiskFailing = false;
      log.info('audit journal: the disk takes records again');
    }
    return true;
  }

  /** Moves to the journal what the disk did not take before. */
  function save(): void {
    if (memory.length === 0) return;
    const unsaved = memory.findIndex((kept) => !append([kept]));
    keep(unsaved === -1 ? [] : memory.slice(unsaved));
  }

  function keep(kept: EncodedEntry[]): void {
    memory = kept;
    memoryBytes = kept.reduce((bytes, { line }) => bytes + line.length, 0);
  }

  function isAbove(share: number): boolean {
    return (
      journal.ownBytes + arrivedBytes >= share * bounds.journalBytes ||
      memoryBytes >= share * bounds.memoryBytes
    );
  }

  function loseOne(entry: Pick<AuditEntry, 'id'>, reason: string): void {
    lostCount += 1;
    const now = clock.monotonic();
    if (now - lossLoggedAt < LOSS_LOG_MS) return;
    lossLoggedAt = now;
    log.error({ id: entry.id, lost: lostCount }, `audit record lost: ${reason}`);
  }

  return {
    lose,

    /**
     * Takes an entry. Never throws. The promise resolves when the entry is in the journal, or, where the disk fails, in
     * memory: one write for all entries of a turn of the event loop costs a tenth of a write for each.
     */
    add(entry: AuditEntry): Promise<void> {
      if (isClosed) {
        loseOne(entry, 'the audit trail is closed');
        return Promise.resolve();
      }
      try {
        const encoded = encodeEntry(entry);
        arrived.push(encoded);
        arrivedBytes += encoded.line.length;
      } catch (error) {
        loseOne(entry, (error as Error).message);
        return Promise.resolve();
      }
      if (commit === undefined) {
        commit = Promise.withResolvers();
        setImmediate(() => write());
      }
      const { promise } = commit;
      if (arrivedBytes >= TURN_BYTES) write();
      return promise;
    },

    /** True when callers should wait. */
    get isFull(): boolean {
      return isAbove(1);
    },

    /** True when callers that wait may go on. */
    get hasRoom(): boolean {
      return !isAbove(1 - FREE_SHARE);
    },

    /** Nothing is waiting. */
    get isEmpty(): boolean {
      return arrived.length === 0 && memory.length === 0 && journal.bytes === 0;
    },

    /** Entries of this process that wait. */
    get records(): number {
      return journal.ownRecords + memory.length + arrived.length;
    },

    /** Bytes in the journal that wait, those of earlier processes included. */
    get spooledBytes(): number {
      return journal.bytes;
    },

    /** Bytes of earlier processes that wait. */
    get adoptedBytes(): number {
      return journal.bytes - journal.ownBytes;
    },

    /** Entries that nothing could take. */
    get lost(): number {
      return lostCount;
    },

    /** The next entries. What is only in memory goes first: it has the most to lose. */
    async take(limit: number): Promise<JournalBatch> {
      write();
      save();
      if (memory.length === 0) return journal.take(limit);
      const taken = new Set(memory.slice(0, limit));
      return {
        entries: [...taken].map(({ entry }) => entry),
        damaged: [],
        settle: () => keep(memory.filter((kept) => !taken.has(kept))),
      };
    },

    /** Ends the use of the journal; what waits stays there for the next start. */
    close(): void {
      if (isClosed) return;
      diskPausedUntil = Number.NEGATIVE_INFINITY;
      write();
      save();
      isClosed = true;
      lose(
        memory.map(({ entry }) => entry),
        'neither the database nor the disk took it before the end',
      );
      journal.close();
    },
  };
}

/**
 * Lets callers wait for something to get room, each for a limited time.
 *
 * @param deadline milliseconds that a caller waits at most
 * @param maxWaiting callers that may wait at one time; one more is turned away at once
 */
export function createRoom(deadline: number, maxWaiting: number) {
  const line = new TransientSet<() => void>();

  return {
    get waiting(): number {
      return line.size;
    },

    /** Resolves at the next `open`, rejects when that takes too long or too many wait. */
    wait(): Promise<void> {
      if (line.size >= maxWaiting) {
        return Promise.reject(new Error(`The audit journal is full and ${maxWaiting} requests wait already`));
      }
      return new Promise((resolve, reject) => {
        const admit = () => {
          clearTimeout(timer);
          line.delete(admit);
          resolve();
        };
        const timer = setTimeout(() => {
          line.delete(admit);
          reject(new Error(`The audit journal was still full after ${deadline} ms`));
        }, deadline);
        line.add(admit);
      });
    },

    /** Lets every waiting caller go on. */
    open(): void {
      for (const admit of [...line]) admit();
    },
  };
}
