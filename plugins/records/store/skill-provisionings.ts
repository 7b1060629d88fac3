import type { InferEntity } from '@mikro-orm/core';
import { column, type Database, defineEntity, type TenantEntityManager } from 'agent-gateway';

/** The state of a tenant's provisioning: one row per tenant. */
export const SkillProvisioningEntity = defineEntity({
  name: 'SkillProvisioning',
  tableName: 'skill_provisionings',
  properties: {
    tenantId: column.tenant().primary(),
    /** The catalog that the tenant has got whole; null for none. */
    catalog: column.string(64).strictNullable(),
    /** Attempts in a row that failed. */
    failures: column.integer(),
    /** No attempt before; null: at once. */
    nextAttemptAt: column.time().strictNullable(),
    updatedAt: column.time(),
  },
});

/** The state of a tenant. */
export type ProvisioningState = Readonly<Omit<InferEntity<typeof SkillProvisioningEntity>, 'tenantId'>>;

/** The state of a tenant; undefined before the first attempt. */
export async function findState(entities: TenantEntityManager): Promise<ProvisioningState | undefined> {
  return (await entities.findOne(SkillProvisioningEntity, {})) ?? undefined;
}

/** The states of some tenants, for the sweep over all of them. */
export async function statesOf(
  database: Pick<Database, 'system'>,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, ProvisioningState>> {
  const rows = await database.system().find(SkillProvisioningEntity, { tenantId: { $in: [...tenantIds] } });
  return new Map(rows.map((row) => [row.tenantId, row]));
}
