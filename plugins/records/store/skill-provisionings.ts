import { column, type Database, defineEntity, type TenantEntityManager } from 'agent-gateway';

/** How far a tenant's built-in skills have come. */
export interface ProvisioningState {
  /** The catalog that the tenant has got whole; null for none. */
  readonly catalog: string | null;
  /** Attempts in a row that failed. */
  readonly failures: number;
  /** No attempt before; null: at once. */
  readonly nextAttemptAt: Date | null;
  readonly updatedAt: Date;
}

/** One row a tenant. */
export const SkillProvisioningEntity = defineEntity({
  name: 'SkillProvisioning',
  tableName: 'skill_provisionings',
  properties: {
    tenantId: column.tenant().primary(),
    catalog: column.string(64).nullable(),
    failures: column.integer(),
    nextAttemptAt: column.time().nullable(),
    updatedAt: column.time(),
  },
});

/** The state of a tenant; undefined for one that nothing was tried for. */
export async function findState(entities: TenantEntityManager): Promise<ProvisioningState | undefined> {
  const row = await entities.findOne(SkillProvisioningEntity, {});
  return row === null ? undefined : toState(row);
}

/** Writes the state of a tenant over the last one. */
export async function writeState(entities: TenantEntityManager, state: ProvisioningState): Promise<void> {
  const { catalog, failures, nextAttemptAt, updatedAt } = state;
  await entities.upsert(
    SkillProvisioningEntity,
    { catalog, failures, nextAttemptAt, updatedAt },
    { conflict: [] },
  );
}

/** The states of some tenants, for the sweep over all of them. */
export async function statesOf(
  database: Pick<Database, 'system'>,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, ProvisioningState>> {
  const rows = await database.system().find(SkillProvisioningEntity, { tenantId: { $in: [...tenantIds] } });
  return new Map(rows.map((row) => [row.tenantId, toState(row)]));
}

function toState(row: {
  catalog?: string | null;
  failures: number;
  nextAttemptAt?: Date | null;
  updatedAt: Date;
}): ProvisioningState {
  const { catalog = null, failures, nextAttemptAt = null, updatedAt } = row;
  return { catalog, failures, nextAttemptAt, updatedAt };
}
