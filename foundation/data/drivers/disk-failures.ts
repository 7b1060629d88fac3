import type { Clock } from '../../base/clock.ts';
import { causesOf } from '../../base/failure.ts';
import { DatabaseErrors } from '../errors.ts';

/** What the families say where their disk has no room: SQLite, PostgreSQL, MySQL and MariaDB (1021, 1114). */
const FULL = /^(SQLITE_FULL|53100|ER_DISK_FULL|ER_RECORD_FILE_FULL)$/;
/** What they say where it fails. */
const BROKEN = /^(SQLITE_IOERR.*|58030)$/;

/**
 * What they say where it is read-only: a file, or a server to which a failover has not come yet, or no longer. Nobody
 * begins a read-only transaction here, so a server that speaks of one means itself.
 */
const READ_ONLY =
  /^(SQLITE_READONLY.*|25006|ER_OPTION_PREVENTS_STATEMENT|ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|ER_READ_ONLY_MODE|ER_OPEN_AS_READONLY|ER_INNODB_READ_ONLY)$/;

/** Why a database stores nothing. */
type DiskFailure = 'full' | 'broken' | 'read-only';

const DETAILS: Readonly<Record<DiskFailure, string>> = {
  full: 'The database takes no writes: its disk is full',
  broken: 'The disk of the database reports errors',
  'read-only': 'The database takes no writes: it is read-only',
};

/** Milliseconds for which a refused write counts where no other write follows. */
const HELD_MS = 60_000;

/** What is wrong with the disk of the database, where an error or one of its causes says so. */
export function diskFailure(error: unknown): DiskFailure | undefined {
  for (const cause of causesOf(error)) {
    const { code } = cause as { code?: unknown };
    if (typeof code !== 'string') continue;
    if (FULL.test(code)) return 'full';
    if (BROKEN.test(code)) return 'broken';
    if (READ_ONLY.test(code)) return 'read-only';
  }
  return undefined;
}

/**
 * True when a write failed because the disk of the database is full. It is undone, and one that follows within seconds
 * fares no better.
 */
export function isDatabaseFull(error: unknown): boolean {
  return diskFailure(error) === 'full';
}

/** `database.unavailable` for a failure of the disk; undefined for every other error. */
export function diskUnavailable(error: unknown): Error | undefined {
  const failure = diskFailure(error);
  return failure && DatabaseErrors.unavailable(DETAILS[failure], { cause: error });
}

/**
 * Whether the disk takes what is written. A full disk, or one that is read-only, answers reads, so a ping does not see
 * it, and to write for each ping would cost the database more than it is worth: the writes that come anyway say it.
 * Those of the audit trail are tried until they succeed, so they also find out when there is room again.
 */
export type DiskWatch = ReturnType<typeof watchDisk>;

export function watchDisk(clock: Pick<Clock, 'monotonic'>) {
  let failure: Error | undefined;
  let failedAt = 0;
  return {
    /** Notes a failure of the disk, and no other error. */
    failed(error: unknown): void {
      const found = diskUnavailable(error);
      if (found === undefined) return;
      failure = found;
      failedAt = clock.monotonic();
    },
    /** Notes that something was stored. */
    stored(): void {
      failure = undefined;
    },
    /**
     * @throws database.unavailable from a failure on until something is stored, or a minute has passed without another
     * failure
     */
    assertWritable(): void {
      if (failure !== undefined && clock.monotonic() - failedAt <= HELD_MS) throw failure;
    },
  };
}
