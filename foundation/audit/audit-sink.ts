import type { AuditEntry } from './audit-entry.ts';

/** Where audit records end up. */
export interface AuditSink {
  /**
   * Stores all entries or rejects; an entry that is stored already is left as it is. The same entries may come again, also
   * in other company, after a rejection or a restart.
   */
  write(entries: readonly AuditEntry[]): Promise<void>;
}
