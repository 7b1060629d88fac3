import type { Database, Erasure, Tenants } from 'agent-gateway';
import { RETRY_RACES } from 'agent-gateway';
import type { OpenedEngine } from '../../workflow/contract.ts';
import type { JobStorage } from './open-engine.ts';

/** Erases a tenant's jobs, or those of one of its users, in their own database. A repeated call erases what is left. */
export async function eraseJobs(
  { database, archive }: Pick<OpenedEngine, 'database' | 'archive'>,
  tenantId: string,
  erasure: Erasure,
): Promise<void> {
  const entities = database.forTenant(tenantId);
  await entities.transaction(async (inside) => {
    await archive.erase(inside, erasure);
  }, RETRY_RACES);
}

/** Deletes all rows of a tenant in the database of jobs, and repeats until none is left. */
export async function purgeTenant(
  { tenantTables }: Pick<Database, 'tenantTables'>,
  tenantId: string,
  signal: AbortSignal,
): Promise<number> {
  for (let purged = 0; ; ) {
    let found = 0;
    for (const { name } of await tenantTables.list())
      found += await tenantTables.purge(name, tenantId, signal);
    if (found === 0) return purged;
    purged += found;
  }
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
