import { type Database, eachRow, type TenantEntityManager } from '../data/database.ts';
import { AuditLog } from '../tables/audit-log.ts';
import type { AuditEntry } from './audit-entry.ts';
import { type AuditQuery, createAuditQuery, entryOf } from './audit-query.ts';
import { type Pseudonymized, renameIdentities, renameInDetails } from './audit-traces.ts';
import type { AuditTrail } from './audit-trail.ts';

/** The audit records that have reached the database: read in pages or as a whole, and made to name nobody. */
export interface AuditLogs extends AuditQuery {
  /** All records of a tenant, or of one identity of it, oldest first; those of this process are brought to the database before. */
  all(tenantId: string, userId: string | undefined): AsyncIterable<AuditEntry>;
  /** Resolves when the records of this process are in the database, or after two seconds. Not inside a transaction. */
  settle(): Promise<void>;
  /** `renameIdentities`, inside the caller's transaction. */
  renameIdentities(entities: TenantEntityManager, whom: Pseudonymized): Promise<number>;
  /** `renameInDetails`. */
  renameInDetails(tenantId: string, whom: Pseudonymized, signal: AbortSignal): Promise<number>;
}

/** Milliseconds that records of this process get to reach the database. */
const SETTLE_MS = 2_000;

/** Makes them over the database, and the trail of this process. */
export function createAuditLogs(
  database: Pick<Database, 'forTenant' | 'system' | 'pageOfAll'>,
  trail: Pick<AuditTrail, 'flush'>,
): AuditLogs {
  const settle = async () => {
    await trail.flush(SETTLE_MS);
  };
  return {
    ...createAuditQuery(database),
    async *all(tenantId, userId) {
      await settle();
      const where = userId === undefined ? {} : { userId };
      const order = { by: ['createdAt', 'id'] } as const;
      for await (const row of eachRow(database.forTenant(tenantId), AuditLog, where, order)) {
        yield entryOf(row);
      }
    },
    settle,
    renameIdentities,
    renameInDetails: (tenantId, whom, signal) => renameInDetails(database, tenantId, whom, signal),
  };
}
