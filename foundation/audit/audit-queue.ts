import type { Clock } from '../base/clock.ts';
import type { Logger } from '../observability/logger.ts';
import { type AuditEntry, type EncodedEntry, encodeEntry } from './audit-entry.ts';
import type { Journal, JournalBatch } from './journal.ts';

/** Bounds in bytes. Callers are asked to wait from them on; what comes all the same is taken up to twice as much. */
interface AuditQueueBounds {
  readonly journalBytes: number;
  /** For the time in which the disk takes nothing. */
  readonly memoryBytes: number;
}

/** What a queue needs. */
interface AuditQueueOptions {
  readonly journal: Journal;
  readonly bounds: AuditQueueBounds;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

/** How long the disk is left alone after it failed. */
const DISK_PAUSE_MS = 1_000;

/** What a turn of the event loop may gather before it is written within the turn. */
const TURN_BYTES = 8_192;

/** How often lost records are told of. */
const LOSS_LOG_MS = 60_000;

/** Room is there again when this much of each bound is free. */
const FREE_SHARE = 0.1;

/** The audit entries that wait for the sink: in the journal, and in memory while the disk fails. */
export class AuditQueue {
  readonly #journal: Journal;
  readonly #bounds: AuditQueueBounds;
  readonly #clock: Clock;
  readonly #log: AuditQueueOptions['log'];
  /** Entries of this turn of the event loop, which go to the journal together. */
  #arrived: EncodedEntry[] = [];
  #arrivedBytes = 0;
  #commit: PromiseWithResolvers<void> | undefined;
  #memory: EncodedEntry[] = [];
  #memoryBytes = 0;
  #diskPausedUntil = Number.NEGATIVE_INFINITY;
  #isDiskFailing = false;
  #isClosed = false;
  #lost = 0;
  #lossLoggedAt = Number.NEGATIVE_INFINITY;

  constructor({ journal, bounds, clock, log }: AuditQueueOptions) {
    this.#journal = journal;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Takes an entry. Never throws. The promise resolves when the entry is in the journal, or, where the disk fails, in
   * memory: one write for all entries of a turn of the event loop costs a tenth of a write for each.
   */
  add(entry: AuditEntry): Promise<void> {
    if (this.#isClosed) {
      this.#lose(entry, 'the audit trail is closed');
      return Promise.resolve();
    }
    try {
      const encoded = encodeEntry(entry);
      this.#arrived.push(encoded);
      this.#arrivedBytes += encoded.line.length;
    } catch (error) {
      this.#lose(entry, (error as Error).message);
      return Promise.resolve();
    }
    if (this.#commit === undefined) {
      this.#commit = Promise.withResolvers();
      setImmediate(() => this.#write());
    }
    const { promise } = this.#commit;
    if (this.#arrivedBytes >= TURN_BYTES) this.#write();
    return promise;
  }

  /** True when callers should wait. */
  get isFull(): boolean {
    return this.#isAbove(1);
  }

  /** True when callers that wait may go on. */
  get hasRoom(): boolean {
    return !this.#isAbove(1 - FREE_SHARE);
  }

  /** Nothing is waiting. */
  get isEmpty(): boolean {
    return this.#arrived.length === 0 && this.#memory.length === 0 && this.#journal.bytes === 0;
  }

  /** Entries of this process that wait. */
  get records(): number {
    return this.#journal.ownRecords + this.#memory.length + this.#arrived.length;
  }

  /** Bytes in the journal that wait, those of earlier processes included. */
  get spooledBytes(): number {
    return this.#journal.bytes;
  }

  /** Bytes of earlier processes that wait. */
  get adoptedBytes(): number {
    return this.#journal.bytes - this.#journal.ownBytes;
  }

  /** Entries that nothing could take. */
  get lost(): number {
    return this.#lost;
  }

  /** The next entries. What is only in memory goes first: it has the most to lose. */
  async take(limit: number): Promise<JournalBatch> {
    this.#write();
    this.#save();
    if (this.#memory.length === 0) return this.#journal.take(limit);
    const taken = new Set(this.#memory.slice(0, limit));
    return {
      entries: [...taken].map(({ entry }) => entry),
      damaged: [],
      settle: () => this.#keep(this.#memory.filter((kept) => !taken.has(kept))),
    };
  }

  /** Counts and logs entries that are lost for good. */
  lose(entries: readonly Pick<AuditEntry, 'id'>[], reason: string): void {
    for (const entry of entries) this.#lose(entry, reason);
  }

  /** Ends the use of the journal; what waits stays there for the next start. */
  close(): void {
    if (this.#isClosed) return;
    this.#diskPausedUntil = Number.NEGATIVE_INFINITY;
    this.#write();
    this.#save();
    this.#isClosed = true;
    this.lose(
      this.#memory.map(({ entry }) => entry),
      'neither the database nor the disk took it before the end',
    );
    this.#journal.close();
  }

  /** Writes what has arrived; what the disk does not take stays in memory, within its bound. */
  #write(): void {
    const arrived = this.#arrived;
    this.#arrived = [];
    this.#arrivedBytes = 0;
    const isWritten = arrived.length === 0 || this.#append(arrived);
    for (const kept of isWritten ? [] : arrived) {
      if (this.#memoryBytes >= 2 * this.#bounds.memoryBytes)
        this.#lose(kept.entry, 'journal and memory are full');
      else {
        this.#memory.push(kept);
        this.#memoryBytes += kept.line.length;
      }
    }
    this.#commit?.resolve();
    this.#commit = undefined;
  }

  /** False when the disk does not take these now. */
  #append(kept: readonly EncodedEntry[]): boolean {
    const now = this.#clock.monotonic();
    if (now < this.#diskPausedUntil || this.#journal.ownBytes >= 2 * this.#bounds.journalBytes) return false;
    try {
      this.#journal.append(kept);
    } catch (error) {
      this.#diskPausedUntil = now + DISK_PAUSE_MS;
      if (!this.#isDiskFailing) {
        this.#log.error({ err: error }, 'audit journal: the disk fails, records are kept in memory');
      }
      this.#isDiskFailing = true;
      return false;
    }
    if (this.#isDiskFailing) {
      this.#isDiskFailing = false;
      this.#log.info('audit journal: the disk takes records again');
    }
    return true;
  }

  /** Moves to the journal what the disk did not take before. */
  #save(): void {
    if (this.#memory.length === 0) return;
    const unsaved = this.#memory.findIndex((kept) => !this.#append([kept]));
    this.#keep(unsaved === -1 ? [] : this.#memory.slice(unsaved));
  }

  #keep(kept: EncodedEntry[]): void {
    this.#memory = kept;
    this.#memoryBytes = kept.reduce((bytes, { line }) => bytes + line.length, 0);
  }

  #isAbove(share: number): boolean {
    const { journalBytes, memoryBytes } = this.#bounds;
    return (
      this.#journal.ownBytes + this.#arrivedBytes >= share * journalBytes ||
      this.#memoryBytes >= share * memoryBytes
    );
  }

  #lose(entry: Pick<AuditEntry, 'id'>, reason: string): void {
    this.#lost += 1;
    const now = this.#clock.monotonic();
    if (now - this.#lossLoggedAt < LOSS_LOG_MS) return;
    this.#lossLoggedAt = now;
    this.#log.error({ id: entry.id, lost: this.#lost }, `audit record lost: ${reason}`);
  }
}

/** Lets callers wait for something to get room, each for a limited time. */
export class Room {
  readonly #deadline: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();

  /**
   * @param deadline milliseconds that a caller waits at most
   * @param maxWaiting callers that may wait at one time; one more is turned away at once
   */
  constructor(deadline: number, maxWaiting: number) {
    this.#deadline = deadline;
    this.#maxWaiting = maxWaiting;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves at the next `open`, rejects when that takes too long or too many wait. */
  wait(): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting) {
      return Promise.reject(
        new Error(`The audit journal is full and ${this.#maxWaiting} requests wait already`),
      );
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        clearTimeout(timer);
        this.#waiting.delete(admit);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(admit);
        reject(new Error(`The audit journal was still full after ${this.#deadline} ms`));
      }, this.#deadline);
      this.#waiting.add(admit);
    });
  }

  /** Admits everybody who waits. */
  open(): void {
    for (const admit of [...this.#waiting]) admit();
  }
}
