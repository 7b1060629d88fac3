import type { TenantEntityManager } from 'agent-gateway';
import type { RunState } from '../core/state.ts';
import type { StoredEvent } from './run-queries.ts';

/** Everything that is kept of one run. Raw. */
export interface ArchivedRun {
  readonly run: RunState;
  /** Oldest first. */
  readonly events: readonly StoredEvent[];
}

/** Whose runs. */
export interface ArchiveScope {
  /** Only runs that this identity started; absent: all of the tenant. */
  readonly startedBy?: string | undefined;
}

/** How much was deleted. */
export interface ErasedRuns {
  readonly runs: number;
  readonly steps: number;
  readonly events: number;
  /** Versions of graphs; 0 unless all of the tenant was deleted. */
  readonly versions: number;
}

/** Runs for data protection: taking them out and deleting them. */
export interface RunArchive {
  /** All runs, oldest first, read in pages: a run at a time is in memory, whatever their number. */
  all(tenantId: string, scope: ArchiveScope): AsyncIterable<ArchivedRun>;
  /**
   * Deletes runs with their steps, events, idempotency keys and undelivered events, and without `startedBy` the versions too, inside the
   * caller's transaction, in batches. A run that is under way is deleted like any other: whoever carries it out finds it gone at his
   * next commit.
   */
  erase(entities: TenantEntityManager, scope: ArchiveScope): Promise<ErasedRuns>;
}
