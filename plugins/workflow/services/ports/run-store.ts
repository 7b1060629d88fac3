import type { TenantEntityManager } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import type { NewEvent } from '../core/commands.ts';
import type { RunState } from '../core/state.ts';

/** A run that is new. */
export interface Creation {
  readonly state: RunState;
  readonly events: readonly NewEvent[];
  /** Names of the sinks that want the events: for each of them the outbox records the events. */
  readonly sinks: readonly string[];
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
}

/** The next state of a run. */
export interface Commit {
  /** What it was computed from. */
  readonly before: RunState;
  /** `revision` is that of `before` and one. Steps that are the same objects as in `before` are not written. */
  readonly after: RunState;
  readonly events: readonly NewEvent[];
  readonly sinks: readonly string[];
  /** Writes of other code that commit together with it. */
  readonly also?: ((entities: TenantEntityManager) => Promise<void>) | undefined;
}

/**
 * Where runs are kept. Each write is one transaction, and correct under concurrent writes: a commit is stored only if
 * the run still has the revision of `before`. A write that rejects may or may not have been stored: read again.
 */
export interface RunStore {
  /** Stores a run with its first events. Returns `exists` if the id exists already (a repeated call). */
  create(
    creation: Creation,
  ): Promise<'created' | 'exists' | { readonly runId: string; readonly fingerprint: string }>;
  read(place: RunPlace): Promise<RunState | undefined>;
  /** True when it was stored; false when the run has another revision. */
  commit(commit: Commit): Promise<boolean>;
  /**
   * Runs whose `wakeAt` is over, on the database's clock: fair over tenants (the first of each, then the second …),
   * older first.
   */
  due(limit: number): Promise<readonly RunPlace[]>;
  /** Runs whose owner is no living worker. */
  orphans(limit: number): Promise<readonly (RunPlace & { readonly owner: string })[]>;
  /** What a worker owns, with its revision. */
  owned(worker: string): Promise<readonly (RunPlace & { readonly revision: number })[]>;
  /**
   * Registers a worker, with a lease of `leaseMs` by the database's clock. What that clock has put off while it was
   * ahead is found again, and workers that have been dead for long and own nothing are removed.
   */
  join(worker: string, leaseMs: number): Promise<void>;
  /** Renews its lease. False when the lease had expired: other workers may have its runs. */
  renew(worker: string, leaseMs: number): Promise<boolean>;
  /** Removes a worker. */
  leave(worker: string): Promise<void>;
}
