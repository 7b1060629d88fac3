import type { Database, Tenants } from 'agent-gateway';
import type { JobStorage } from './open-engine.ts';

/** Deletes all rows of a tenant in the database of jobs, and repeats until none is left. */
export async function purgeTenant(
  { tenantTables }: Pick<Database, 'tenantTables'>,
  tenantId: string,
  signal: AbortSignal,
): Promise<void> {
  let found: number;
  do {
    found = 0;
    for (const { name } of await tenantTables.holding(tenantId))
      found += await tenantTables.purge(name, tenantId, signal);
  } while (found > 0);
}

/**
 * Deletes the rows of tenants that were purged while this process or the plugin was not running: that purge deleted
 * only their rows in the gateway's database. A step that was in flight during a purge may have left a row as well.
 */
export async function purgeGoneTenants(
  { prepared, isGateways }: JobStorage,
  tenants: Pick<Tenants, 'get'>,
  signal: AbortSignal,
): Promise<void> {
  const { opened } = prepared;
  if (opened === undefined || isGateways) return;
  const { archive, database } = opened;
  const sizes = await archive.retained({ name: 'jobs', summary: 'Jobs' }).sizes();
  for (const tenantId of sizes.keys()) {
    const tenant = await tenants.get(tenantId);
    if (tenant?.purgedAt != null) await purgeTenant(database, tenantId, signal);
  }
}
