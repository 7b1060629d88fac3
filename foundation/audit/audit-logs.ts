import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { type Database, eachRow, type TenantEntityManager } from '../data/database.ts';
import { AuditLog } from '../tables/audit-log.ts';
import { type AuditArchive, type AuditArchiveParts, createAuditArchive } from './audit-archive.ts';
import type { AuditEntry, AuditExtra } from './audit-entry.ts';
import { type AuditQuery, createAuditQuery, entryOf } from './audit-query.ts';
import { type Pseudonymized, renameIdentities, renameInDetails } from './audit-traces.ts';
import type { AuditTrail } from './audit-trail.ts';
import { auditDetail } from './sanitize.ts';

/**
 * The audit records that have reached the database: read in pages or as a whole, freed of a user's name, and moved away
 * when they are old.
 */
export interface AuditLogs extends AuditQuery {
  /**
   * All records of a tenant, or of one identity of it, archived ones too, oldest first; those of this process are
   * brought to the database before. What is archived meanwhile comes last, perhaps again.
   */
  all(tenantId: string, userId: string | undefined): AsyncIterable<AuditEntry>;
  /** Resolves when the records of this process are in the database, or after two seconds. Not inside a transaction. */
  settle(): Promise<void>;
  /** `renameIdentities`, inside the caller's transaction. */
  renameIdentities(entities: TenantEntityManager, whom: Pseudonymized): Promise<number>;
  /** `renameInDetails`, and the same in archived records. */
  renameInDetails(tenantId: string, whom: Pseudonymized, signal: AbortSignal): Promise<number>;
  /**
   * Records something under the name of an event: `retention.applied`. `cause`: the call that caused it, where there is
   * one and its own record does not say enough. When it resolves, the record outlives the process.
   */
  note(
    tenantId: string,
    event: string,
    changes?: AuditExtra['changes'],
    cause?: { readonly identity: { readonly id: string }; readonly requestId: string },
  ): Promise<void>;
  /** `AuditTrail.forgetRejected`. */
  forgetRejected(before: Date): Promise<number>;
  /** `AuditArchive.move`. */
  archive: AuditArchive['move'];
}

/** Milliseconds that records of this process get to reach the database. */
const SETTLE_MS = 2_000;

/** What the records are kept with. */
interface AuditLogsParts extends AuditArchiveParts {
  readonly database: Pick<Database, 'forTenant' | 'system' | 'pageOfAll'>;
  /** Of this process. */
  readonly trail: Pick<AuditTrail, 'flush' | 'record' | 'forgetRejected'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
}

/** Makes them. */
export function createAuditLogs(parts: AuditLogsParts): AuditLogs {
  const { database, trail, clock, ids } = parts;
  const archive = createAuditArchive(parts);
  const settle = async () => {
    await trail.flush(SETTLE_MS);
  };
  return {
    ...createAuditQuery(database),
    async *all(tenantId, userId) {
      await settle();
      const read = new Set<string>();
      yield* archive.records(tenantId, userId, read);
      const where = userId === undefined ? {} : { userId };
      const order = { by: ['createdAt', 'id'] } as const;
      for await (const row of eachRow(database.forTenant(tenantId), AuditLog, where, order)) {
        yield entryOf(row);
      }
      // What was moved meanwhile is there now, and may have been read before.
      yield* archive.records(tenantId, userId, read);
    },
    settle,
    renameIdentities,
    async renameInDetails(tenantId, whom, signal) {
      const renamed = await renameInDetails(database, tenantId, whom, signal);
      // Afterwards: what was moved meanwhile is there now.
      return renamed + (await archive.rename(tenantId, whom, signal));
    },
    note(tenantId, action, changes, cause) {
      const detail = auditDetail('', [], undefined, { ...(changes && { changes }) });
      return trail.record({
        id: ids.uuid(),
        tenantId,
        userId: cause?.identity.id ?? '',
        action,
        detail,
        requestId: cause?.requestId ?? '',
        statusCode: 200,
        latencyMs: 0,
        createdAt: new Date(clock.now()),
      });
    },
    forgetRejected: (before) => trail.forgetRejected(before),
    archive: archive.move,
  };
}
