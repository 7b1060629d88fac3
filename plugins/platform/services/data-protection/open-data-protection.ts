import { PersonalDataPoint, type Scope, StoredObjectsPoint } from 'agent-gateway';
import { createDataProtection, haltAll, RenameInAudit, renameInAudit } from './data-protection.ts';
import { createObjectCleanup } from './object-cleanup.ts';

/** Opens data protection over what all plugins contribute, and has deleted tenants purged as long as the plugin lives. */
export function openDataProtection(scope: Scope<{ readonly purge_interval: number }>) {
  const { services, config } = scope;
  const { protection, audit } = services;
  const contributions = scope.contributions(PersonalDataPoint);
  const references = scope.contributions(StoredObjectsPoint);

  scope.contribute(PersonalDataPoint, protection.own);
  scope.worker(RenameInAudit, renameInAudit(audit));
  // At once too: processes that live for less than the interval would never purge.
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
    { immediately: true },
  );
  return {
    data: createDataProtection({ ...services, contributions }),
    cleanUp: createObjectCleanup({ ...services, references }),
  };
}
