import { appendFile, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '../observability/logger.ts';
import { type AuditEntry, decodeEntry, type EncodedEntry, encodeEntry } from './audit-entry.ts';
import type { RefusedEntry } from './delivery.ts';
import { createJournalFolder, type JournalOwner } from './journal-folder.ts';
import { Segment, type SegmentPart } from './segment.ts';

/** What a batch is made of, and the way to say that it was dealt with. */
export interface JournalBatch {
  readonly entries: readonly AuditEntry[];
  /** Lines that hold no entry: damage, or what was being written when a process died. */
  readonly damaged: readonly string[];
  /** Forgets the batch; its segments are deleted when nothing else is in them. */
  settle(): void;
}

/** What a journal needs. */
export interface JournalOptions {
  /** Absolute path; may be shared with other processes. */
  readonly directory: string;
  readonly owner: JournalOwner;
  /** Size at which a segment is closed and the next one begun. */
  readonly segmentBytes: number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Own records that are kept at hand. When more wait, the sink is slower than the requests, and the files are read. */
const MAX_RECENT = 5_000;

interface RecentEntry {
  readonly entry: AuditEntry;
  readonly bytes: number;
}

/** A settled segment that is smaller is not worth a system call. */
const EMPTY_FROM_BYTES = 262_144;

export type Journal = ReturnType<typeof createJournal>;

/**
 * The queue of audit entries, kept in files. An entry is safe from the death of the process as soon as `append` has
 * returned; entries that earlier processes left in the same directory are queued before the own ones. Throws where the
 * directory cannot be made or written to.
 */
export function createJournal({ directory, owner, segmentBytes, log }: JournalOptions) {
  const folder = createJournalFolder(directory, owner);
  let adopted: Segment[] = [];
  let own: Segment[] = [];
  let records = 0;
  /** The own records that wait, while they are few: what is at hand need not be read from the file again. */
  let recent: RecentEntry[] | undefined = [];
  let isClosed = false;

  function appendLines(lines: string, count: number): void {
    let live = own.at(-1);
    if (live === undefined || live.isSealed || live.size >= segmentBytes) {
      live?.seal();
      live = Segment.create(folder.nextSegmentPath());
      own.push(live);
    }
    live.append(lines);
    records += count;
  }

  function takeRecent(limit: number): JournalBatch {
    const taken = (recent ?? []).slice(0, limit);
    const segments = own;
    return {
      entries: taken.map(({ entry }) => entry),
      damaged: [],
      settle: () => {
        // Lines are whole and in order, so the first bytes that wait are theirs.
        let bytes = taken.reduce((total, entry) => total + entry.bytes, 0);
        for (const segment of segments) {
          const settled = Math.min(bytes, segment.undelivered);
          segment.settle(settled);
          bytes -= settled;
        }
        // Another process may have taken the folder meanwhile, and with it what these were counted in.
        if (segments !== own) return;
        records -= taken.length;
        recent?.splice(0, taken.length);
        prune();
      },
    };
  }

  async function read(segment: Segment, limit: number): Promise<SegmentPart> {
    try {
      return await segment.read(limit);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isClosed) throw error;
      if (!folder.exists()) beginAnew();
      else log.error({ file: segment.path, bytes: segment.undelivered }, 'audit journal: a file is gone');
      return { lines: [], bytes: segment.undelivered, isTorn: false };
    }
  }

  /**
   * Another process took the folder, because this one was held up for long. It has what was in the files then; what was
   * written since is only in the own open file, and is saved into a new folder. Both may deliver the same.
   */
  function beginAnew(): void {
    log.warn(
      { folder: folder.path },
      'audit journal: the folder is gone, since another process took it or somebody deleted it: beginning anew',
    );
    const live = own.at(-1);
    const tail = live?.readTail() ?? '';
    live?.seal();
    adopted = [];
    own = [];
    records = 0;
    recent = undefined;
    folder.create();
    for (const line of tail.split('\n')) if (line !== '') appendLines(`${line}\n`, 1);
  }

  function prune(): void {
    adopted = adopted.filter(isNeeded);
    const live = own.at(-1);
    own = own.filter((segment) => segment === live || isNeeded(segment));
    if (live !== undefined && !live.isSealed && live.undelivered === 0 && live.size >= EMPTY_FROM_BYTES)
      live.empty();
  }

  return {
    /** Appends entries with one write. Throws when the disk does not take them; then it has taken none. */
    append(kept: readonly EncodedEntry[]): void {
      appendLines(kept.map(({ line }) => line).join(''), kept.length);
      if (recent === undefined) return;
      for (const { entry, line } of kept) recent.push({ entry, bytes: Buffer.byteLength(line) });
      if (recent.length > MAX_RECENT) recent = undefined;
    },

    /** Bytes of this process' records that the sink does not have yet. */
    get ownBytes(): number {
      return sum(own);
    },

    /** This process' records that the sink does not have yet. */
    get ownRecords(): number {
      return records;
    },

    /** Bytes that the sink does not have yet, those of earlier processes included. */
    get bytes(): number {
      return sum(adopted) + sum(own);
    },

    /** Reads the next entries, oldest segment first, `limit` at most. Only one batch may be out at a time. */
    async take(limit: number): Promise<JournalBatch> {
      if (adopted.length === 0 && recent?.length === records) return takeRecent(limit);
      const entries: AuditEntry[] = [];
      const damaged: string[] = [];
      const parts: { segment: Segment; bytes: number; lines: number }[] = [];
      for (const segment of [...adopted, ...own]) {
        const room = limit - entries.length - damaged.length;
        if (room <= 0) break;
        if (segment.undelivered === 0) continue;
        const { lines, bytes, isTorn } = await read(segment, room);
        for (const line of lines) {
          const entry = decodeEntry(line);
          if (entry === undefined) damaged.push(line);
          else entries.push(entry);
        }
        if (isTorn) log.warn({ file: segment.path }, 'audit journal: an unfinished line was skipped');
        // A file that lost its end behind our back has nothing more to give.
        const settled = bytes === 0 ? segment.undelivered : bytes;
        parts.push({ segment, bytes: settled, lines: lines.length });
      }
      return {
        entries,
        damaged,
        settle: () => {
          for (const { segment, bytes, lines } of parts) {
            segment.settle(bytes);
            if (own.includes(segment)) records -= lines;
          }
          // The entries at hand are not the next ones any more; they are again when nothing waits.
          recent = records === 0 ? [] : undefined;
          prune();
        },
      };
    },

    /** Queues what processes that are gone have left. Returns how many bytes. */
    adoptAbandoned(now: number): number {
      const claimed = folder.claimAbandoned(now).map((file) => Segment.adopt(file));
      adopted.push(...claimed);
      return sum(claimed);
    },

    /** Shows other processes that this one lives. */
    heartbeat(now: Date): void {
      if (!folder.heartbeat(now)) beginAnew();
    },

    /** Ends the use of the files. What is left is for the process that starts next. Never throws. */
    close(): void {
      isClosed = true;
      try {
        prune();
        for (const segment of own) segment.seal();
        if (sum(adopted) + sum(own) > 0) {
          folder.leave();
        } else {
          for (const segment of own) segment.remove();
          folder.remove();
        }
      } catch (error) {
        // A disk that has failed must not break the stop: by the name of the folder the next start sees whose it was.
        log.warn({ err: error }, 'audit journal: the folder stays as it is, for the next start');
      }
    },
  };
}

/** False for a segment that was delivered whole; its file is deleted. */
function isNeeded(segment: Segment): boolean {
  if (segment.undelivered > 0) return true;
  segment.remove();
  return false;
}

function sum(segments: readonly Segment[]): number {
  return segments.reduce((bytes, segment) => bytes + segment.undelivered, 0);
}

/** How large the file may get; what comes after is only logged. */
const MAX_BYTES = 67_108_864;

const REJECTED = '.rejected';

/** Where a process keeps what the database will never take. */
export const rejectedFile = (directory: string, id: string) => path.join(directory, `${id}${REJECTED}`);

/**
 * Deletes files of what the database will never take, also of other processes, to which nothing was added since
 * `before`; how many.
 */
export async function forgetRejected(directory: string, before: Date): Promise<number> {
  let forgotten = 0;
  for (const name of await readdir(directory)) {
    if (!name.endsWith(REJECTED)) continue;
    const file = path.join(directory, name);
    const found = await stat(file).catch(() => undefined);
    if (found === undefined || found.mtime >= before) continue;
    await rm(file, { force: true });
    forgotten += 1;
  }
  return forgotten;
}

/** A file (JSON lines, mode 0600) of what the database will never take, for a person to look at. */
export function createRejectedFile(file: string, log: Pick<Logger, 'error'>) {
  async function size(): Promise<number> {
    try {
      return (await stat(file)).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
  }

  return {
    /** Logs and keeps refused entries and damaged lines of the journal. False when the file did not take them. */
    async add(refused: readonly RefusedEntry[], damaged: readonly string[]): Promise<boolean> {
      for (const { entry, reason } of refused) {
        const { id, tenantId } = entry;
        log.error({ id, tenant_id: tenantId, file, err: reason }, 'audit record refused by the database');
      }
      if (damaged.length > 0) log.error({ lines: damaged.length, file }, 'audit journal: damaged lines');
      const lines = [
        ...refused.map(({ entry }) => encodeEntry(entry).line),
        ...damaged.map((line) => `${line}\n`),
      ];
      try {
        if ((await size()) >= MAX_BYTES) throw new Error('the file is full');
        await appendFile(file, lines.join(''), { mode: 0o600 });
        return true;
      } catch (error) {
        log.error({ err: error, file }, 'audit: refused records could not be set aside');
        return false;
      }
    },
  };
}
