import type { BackoffBounds } from '../base/backoff.ts';

/** Bounds of the trail; times in milliseconds. */
export interface AuditTrailLimits {
  /** Records that are written at one time; default 500. */
  readonly batchSize: number;
  /** How long a record waits for company; default 200. */
  readonly batchDelay: number;
  /** How long one write to the sink may take; default 15 000. */
  readonly sinkDeadline: number;
  /** Bytes that the journal of this process may hold before callers wait; default 256 MiB. */
  readonly journalBytes: number;
  /** Size of one journal file; default 4 MiB. */
  readonly segmentBytes: number;
  /** Bytes that memory may hold while the disk fails, before callers wait; default 16 MiB. */
  readonly memoryBytes: number;
  /** How long a caller waits for room; default 5 000. */
  readonly roomDeadline: number;
  /** Callers that may wait for room at one time; default 1 000. */
  readonly maxWaiting: number;
  /** Delays between attempts while the sink is away; default 200 to 10 000. */
  readonly backoff: BackoffBounds;
  /** How often this process shows that it lives and looks for journals of processes that do not; default 10 000. */
  readonly heartbeat: number;
}

/** The bounds that hold where nothing else is said. */
export const DEFAULT_LIMITS: AuditTrailLimits = {
  batchSize: 500,
  batchDelay: 200,
  sinkDeadline: 15_000,
  journalBytes: 256 * 1_048_576,
  segmentBytes: 4 * 1_048_576,
  memoryBytes: 16 * 1_048_576,
  roomDeadline: 5_000,
  maxWaiting: 1_000,
  backoff: { first: 200, most: 10_000 },
  heartbeat: 10_000,
};
