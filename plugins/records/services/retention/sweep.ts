import { setTimeout as pause } from 'node:timers/promises';
import type { AuditLogs, Clock, Database, Logger, RetainedRecords, Tenants } from 'agent-gateway';
import { findRulesOf, saveSizes } from '../../store/retention.ts';
import { deletedBefore, ruleOf } from './rules.ts';

/** The action under which deletions are found in the audit log. */
const RETENTION_APPLIED = 'retention.applied';

/** The longest pause after a batch, in milliseconds. */
const LONGEST_PAUSE_MS = 1_000;
/** Tenants that are asked for at one time. */
const TENANTS = 500;
/** A kind is counted again after so many times what its last count took: counting may read a whole index. */
const COUNTING_SHARE = 1_000;

/** What a sweep works with. */
export interface SweepParts {
  readonly database: Pick<Database, 'system' | 'transaction' | 'now'>;
  readonly tenants: Pick<Tenants, 'list'>;
  readonly audit: Pick<AuditLogs, 'note'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly kinds: () => ReadonlyMap<string, RetainedRecords>;
  /** `SVC_RETENTION`, by kind. */
  readonly deployment: ReadonlyMap<string, number | null>;
  /** So many records of a kind were deleted. */
  readonly deleted: (kind: string, count: number) => void;
}

/**
 * Makes the sweep: it deletes the records whose time is over, and counts the existing ones, by kind and tenant. Only
 * one replica may run it at a time; the next sweep does what one leaves undone. Records that each process has of its
 * own are deleted by a sweep `ofProcess`, which every process runs. After each batch it waits as long as the batch
 * took, so that other work has at least half of the database's time.
 */
export function createSweep(parts: SweepParts): (signal: AbortSignal, ofProcess?: boolean) => Promise<void> {
  const { database, tenants, audit, clock, log, kinds, deployment } = parts;
  /** When a kind is counted again, by `clock.monotonic`. */
  const countAgainAt = new Map<string, number>();

  async function deleteOld(kind: RetainedRecords, tenantId: string, before: Date, signal: AbortSignal) {
    let deleted = 0;
    try {
      let begun = clock.monotonic();
      for await (const count of kind.deleteBefore(tenantId, before, signal)) {
        deleted += count;
        await pause(Math.min(clock.monotonic() - begun, LONGEST_PAUSE_MS), undefined, { signal });
        begun = clock.monotonic();
      }
    } finally {
      if (deleted > 0) {
        parts.deleted(kind.name, deleted);
        const changes = { kind: kind.name, deleted, before: before.toISOString() };
        await audit.note(tenantId, RETENTION_APPLIED, changes);
      }
    }
  }

  /**
   * The tenants that may have records to delete: all, if a rule applies to all of them, else those that have a rule of
   * their own.
   */
  async function* tenantsOf(own: ReadonlyMap<string, unknown>, isForAll: boolean): AsyncGenerator<string> {
    if (!isForAll) {
      yield* own.keys();
      return;
    }
    for (let offset = 0; ; offset += TENANTS) {
      const page = await tenants.list({ limit: TENANTS, offset, includeDeleted: 'unpurged' });
      for (const { id } of page.records) yield id;
      if (page.records.length < TENANTS) return;
    }
  }

  async function applyRules(kind: RetainedRecords, signal: AbortSignal): Promise<void> {
    const own = await findRulesOf(database, kind.name);
    const sayings = { deployment: deployment.get(kind.name), plugin: kind.keptFor };
    // The earlier one of two clocks: what a replica whose clock is ahead deletes is lost. Records of one process have
    // only its times.
    const now = kind.ofProcess ? clock.now() : Math.min(clock.now(), await database.now());
    for await (const tenantId of tenantsOf(own, ruleOf(sayings).keep !== null)) {
      signal.throwIfAborted();
      const before = deletedBefore(ruleOf({ ...sayings, tenant: own.get(tenantId) }), now);
      if (before === undefined) continue;
      try {
        await deleteOld(kind, tenantId, before, signal);
      } catch (err) {
        signal.throwIfAborted();
        const what = { err, tenant_id: tenantId, kind: kind.name };
        log.error(what, 'old records could not be deleted; the next sweep goes on');
      }
    }
  }

  async function countAll(kind: RetainedRecords): Promise<void> {
    const begun = clock.monotonic();
    if (begun < (countAgainAt.get(kind.name) ?? 0)) return;
    try {
      await saveSizes(database, kind.name, await kind.sizes(), new Date(clock.now()));
    } finally {
      const ended = clock.monotonic();
      countAgainAt.set(kind.name, ended + (ended - begun) * COUNTING_SHARE);
    }
  }

  return async (signal, ofProcess = false) => {
    for (const kind of kinds().values()) {
      try {
        if (ofProcess === (kind.ofProcess ?? false)) await applyRules(kind, signal);
        if (!ofProcess) await countAll(kind);
      } catch (err) {
        signal.throwIfAborted();
        log.error({ err, kind: kind.name }, 'records could not be swept; the next sweep goes on');
      }
    }
  };
}
