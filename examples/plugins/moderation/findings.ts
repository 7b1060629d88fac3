import { type KernelServices, type Logger, rowsByTenant } from 'agent-gateway';
import type { Action } from './moderator.ts';
import { Finding } from './store.ts';

/** Findings of a tenant that one report counts; what is above waits for the next. */
const MAX_REPORTED = 10_000;

/** What was found, in a table: any replica may report what all of them have found. */
export function createFindings({ audit, database, ids }: KernelServices, log: Logger) {
  const open = new Set<Promise<void>>();
  return {
    /** Stores a finding beside the chat, which does not wait for it. */
    note(tenantId: string, action: Action): void {
      const finding = { id: ids.uuid(), action };
      const stored = database
        .forTenant(tenantId)
        .insert(Finding, finding)
        .catch((error: unknown) => log.error({ err: error }, 'a finding was not stored'))
        .finally(() => open.delete(stored));
      open.add(stored);
    },
    /** Resolves when what was noted is stored. */
    async settle(): Promise<void> {
      await Promise.all(open);
    },
    /**
     * Writes an audit record for each tenant with findings: of what was refused and redacted, by all replicas. Only
     * what was counted is erased, afterwards: when the process dies in between, it is in the next report again.
     */
    async report(signal: AbortSignal): Promise<void> {
      for (const tenantId of (await rowsByTenant(database, Finding)).keys()) {
        signal.throwIfAborted();
        const entities = database.forTenant(tenantId);
        const found = await entities.rows(Finding, {}, { fields: ['id', 'action'], limit: MAX_REPORTED });
        const counts = { refused: 0, redacted: 0 };
        for (const { action } of found) counts[action] += 1;
        await audit.note(tenantId, 'moderation.report', counts);
        await entities.erase(Finding, { id: { $in: found.map(({ id }) => id) } });
      }
    },
  };
}
