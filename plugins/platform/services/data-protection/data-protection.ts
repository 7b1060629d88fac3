import {
  type AuditLogs,
  type Clock,
  type Database,
  defineErrors,
  defineJob,
  type Ids,
  type JobHandler,
  type Jobs,
  type PersonalData,
  type PersonalScope,
  RETRY_RACES,
  type TenantEntityManager,
  type TenantRecord,
  Type,
} from 'agent-gateway';
import { type DocumentSection, exportDocument } from './export-document.ts';

/** The errors of data protection. */
export const DataProtectionErrors = defineErrors({
  incomplete: {
    code: 'data-protection.incomplete',
    kind: 'unavailable',
    title: 'Not all that is kept can be reached',
  },
});

/** Milliseconds within which records of an erased user that were still being written have reached the database. */
const LATE_MS = 60_000;
/** The event by which the audit log knows that an export has begun. */
const EXPORT_BEGUN = 'export.begun';
/** Tables that a refusal names. */
const NAMED = 5;

/**
 * Puts the pseudonym into all members of audit records, once immediately and once for records that arrived late. The
 * payload holds the user's id until the job is done. `before` is in milliseconds: records of a later time are not
 * renamed.
 */
export const RenameInAudit = defineJob(
  'platform.rename-in-audit',
  Type.Object({
    user_id: Type.Optional(Type.String()),
    pseudonym: Type.String(),
    before: Type.Number(),
  }),
  { attempts: 20, timeout: 3_600_000 },
);

/** Does `RenameInAudit`. */
export function renameInAudit(
  audit: Pick<AuditLogs, 'renameInDetails'>,
): JobHandler<{ readonly user_id?: string; readonly pseudonym: string; readonly before: number }> {
  return async ({ user_id: userId, pseudonym, before }, { tenantId = '', signal }) => {
    await audit.renameInDetails(tenantId, { userId, pseudonym, before: new Date(before) }, signal);
  };
}

/** Whose call asks for an export. */
interface Asked {
  readonly identity: { readonly id: string };
  readonly requestId: string;
}

/**
 * The result of an erasure: the number of records of each kind, and the pseudonym that replaces the user in records
 * that stay.
 */
export interface Erased {
  readonly deleted: Readonly<Record<string, number>>;
  readonly pseudonym: string;
}

interface DataProtectionParts {
  readonly contributions: () => readonly PersonalData[];
  readonly database: Database;
  readonly audit: AuditLogs;
  readonly jobs: Pick<Jobs, 'publish'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'opaque'>;
}

/**
 * Export and erasure of personal data (specification 1, Data protection; decisions 1.5), across all plugins that
 * contribute.
 */
export type DataProtection = ReturnType<typeof createDataProtection>;

/** Makes the service. */
export function createDataProtection(parts: DataProtectionParts) {
  const { contributions, database, audit, jobs, clock, ids } = parts;

  /**
   * Throws `data-protection.incomplete` where a table has rows of the tenant that no running plugin answers for.
   * Otherwise an export, or a deletion, would seem complete although a plugin was not started, or its author forgot to
   * contribute the table.
   */
  async function requireAll(tenantId: string, data: readonly PersonalData[]): Promise<void> {
    const shown = data.flatMap(({ sections }) => sections.flatMap(({ entities }) => entities));
    const covered = new Set(shown.map(({ meta }) => meta.tableName));
    const missing = (await database.tenantTables.holding(tenantId))
      .filter(({ name, isImpersonal }) => !isImpersonal && !covered.has(name))
      .map(({ name, owner }) => `${name} of ${owner}`);
    if (missing.length === 0) return;
    const more = missing.length > NAMED ? `, and ${missing.length - NAMED} more` : '';
    throw DataProtectionErrors.incomplete(
      `There is data in ${missing.slice(0, NAMED).join(', ')}${more}, and no plugin that runs here answers for it.`,
    );
  }

  /** Erases all personal data in scope, in the caller's transaction. */
  async function eraseAll(
    entities: TenantEntityManager,
    data: readonly PersonalData[],
    { userId, pseudonym }: { readonly userId: string | undefined; readonly pseudonym: string },
  ): Promise<Erased['deleted']> {
    const deleted: Record<string, number> = {};
    for (const one of data) {
      const counts = await one.erase(entities, { userId, pseudonym });
      for (const [kind, count] of Object.entries(counts)) deleted[kind] = (deleted[kind] ?? 0) + count;
    }
    const payload = { ...(userId !== undefined && { user_id: userId }), pseudonym, before: clock.now() };
    await jobs.publish(entities, RenameInAudit, payload);
    await jobs.publish(entities, RenameInAudit, payload, { delay: LATE_MS });
    return deleted;
  }

  return {
    /**
     * The document. Throws `data-protection.incomplete`; later failures are thrown while the text is read. The audit
     * log names who asked before anything leaves: the record of the call is written at its end, and never where the
     * process ends before.
     */
    async export(
      tenant: Pick<TenantRecord, 'id' | 'name' | 'plan' | 'createdAt'>,
      userId: string | undefined,
      asked: Asked,
      signal: AbortSignal,
    ): Promise<AsyncIterable<string>> {
      const data = contributions();
      await requireAll(tenant.id, data);
      const changes = userId === undefined ? undefined : { user_id: userId };
      await audit.note(tenant.id, EXPORT_BEGUN, changes, asked);
      const head = {
        tenant: { id: tenant.id, name: tenant.name, plan: tenant.plan, created_at: tenant.createdAt },
        user_id: userId ?? null,
        exported_at: new Date(clock.now()),
      };
      const request = { tenantId: tenant.id, userId, signal };
      return exportDocument(head, documentSections(data), request);
    },

    /**
     * Ends work in progress of the user, or of the whole tenant, and then deletes the stored data in one transaction;
     * jobs of that transaction delete the objects. A repeated call deletes what was stored since. Throws
     * `data-protection.incomplete`, and the error of work that does not end (`session.busy`).
     */
    async erase({ tenantId, userId }: PersonalScope, signal: AbortSignal): Promise<Erased> {
      // In reverse: a plugin comes after those whose services it uses, and its data is deleted before theirs.
      const data = contributions().toReversed();
      await requireAll(tenantId, data);
      const scope = { tenantId, userId };
      await haltAll(data, scope, signal);
      await audit.settle();
      const pseudonym = `erased-${ids.opaque()}`;
      const deleted = await database
        .forTenant(tenantId)
        .transaction((entities) => eraseAll(entities, data, { userId, pseudonym }), RETRY_RACES);
      for (const one of data) one.erased?.(scope);
      return { deleted, pseudonym };
    },
  };
}

/** Sections by their names, in the order of the contributions. */
function documentSections(data: readonly PersonalData[]): readonly DocumentSection[] {
  const byName = Map.groupBy(
    data.flatMap(({ sections }) => sections),
    ({ name }) => name,
  );
  return [...byName].map(([name, parts]) => ({ name, parts }));
}

/** Ends work in progress in all plugins. Throws the first error, after all plugins were called. */
export async function haltAll(
  data: readonly PersonalData[],
  scope: PersonalScope,
  signal: AbortSignal,
): Promise<void> {
  const halted = await Promise.allSettled(data.map(async (one) => one.halt?.(scope, signal)));
  for (const one of halted) if (one.status === 'rejected') throw one.reason;
}
