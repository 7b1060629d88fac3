import type { Database } from '../data/database.ts';
import { ApiKey } from '../tables/api-key.ts';
import { type RetainedRecords, retainedRows } from './retained-records.ts';

/** Keys that nobody can use any more, as records that may go when they are old. Audit records keep their ids. */
export function retainedApiKeys(database: Pick<Database, 'forTenant' | 'system'>): RetainedRecords {
  const kind = {
    name: 'api_keys',
    summary: 'API keys that were revoked or have expired, from then on',
    entity: ApiKey,
  };
  const revoked = (before: Date) => ({ revokedAt: { $lt: before } });
  const expired = (before: Date) => ({ expiresAt: { $lt: before } });
  const ofRevoked = retainedRows(database, { ...kind, older: revoked });
  const ofExpired = retainedRows(database, { ...kind, older: expired });
  return {
    ...ofRevoked,
    async count(tenantId, before) {
      if (before === undefined) return ofRevoked.count(tenantId);
      return database.forTenant(tenantId).count(ApiKey, { $or: [revoked(before), expired(before)] });
    },
    async *deleteBefore(tenantId, before, signal) {
      yield* ofRevoked.deleteBefore(tenantId, before, signal);
      yield* ofExpired.deleteBefore(tenantId, before, signal);
    },
  };
}
