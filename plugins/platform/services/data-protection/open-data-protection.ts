import { PersonalDataPoint, type Scope, StoredObjectsPoint } from 'agent-gateway';
import { createDataProtection, haltAll, RenameInAudit, renameInAudit } from './data-protection.ts';
import { createObjectCleanup } from './object-cleanup.ts';

/** Milliseconds between two searches for audit records to be moved. */
const ARCHIVE_EVERY_MS = 3_600_000;

/**
 * Opens data protection over the contributions of all plugins. For as long as the plugin lives, it purges deleted
 * tenants, and moves old audit records to the object storage.
 */
export function openDataProtection(
  scope: Scope<{ readonly purge_interval: number; readonly audit_retention: number }>,
) {
  const { services, config, log } = scope;
  const { protection, audit, clock } = services;
  const contributions = scope.contributions(PersonalDataPoint);
  const references = scope.contributions(StoredObjectsPoint);

  scope.contribute(PersonalDataPoint, protection.own);
  scope.worker(RenameInAudit, renameInAudit(audit));
  scope.every(
    'tenant-purge',
    config.purge_interval,
    (signal) =>
      protection.purge.run({
        signal,
        halt: (tenantId, alive) => haltAll(contributions(), { tenantId }, alive),
        async removeElsewhere(tenantId, alive) {
          for (const one of contributions()) await one.purge?.(tenantId, alive);
        },
      }),
    { immediately: true, replicas: 'one' },
  );
  scope.every(
    'audit-archive',
    ARCHIVE_EVERY_MS,
    async (signal) => {
      const before = new Date(clock.now() - config.audit_retention);
      const forgotten = await audit.forgetRejected(before);
      if (forgotten > 0)
        log.warn({ files: forgotten }, 'files of audit records that the database refused were deleted');
      const moved = await audit.archive(before, signal);
      if (moved > 0) log.info({ records: moved }, 'old audit records were moved to the object storage');
    },
    { immediately: true },
  );
  return {
    data: createDataProtection({ ...services, contributions }),
    cleanUp: createObjectCleanup({ ...services, references }),
  };
}
