import { column, defineEntity, type TenantEntityManager } from 'agent-gateway';
import type { SandboxPolicy } from '../../contract.ts';

/** A tenant's own sandbox policy. A tenant without a row has the default one. */
export const SandboxPolicyRow = defineEntity({
  name: 'SandboxPolicyRow',
  tableName: 'sandbox_policies',
  properties: {
    tenantId: column.tenant().primary(),
    enabled: column.boolean(),
    maxTimeoutSeconds: column.integer(),
    /** The JSON text of a list of names; null: all tools. */
    allowedTools: column.text().strictNullable(),
    allowDocker: column.boolean(),
    restrictNetwork: column.boolean(),
    maxOutputKb: column.integer(),
    updatedAt: column.time(),
  },
});

/** The tenant's own policy. */
export async function findPolicy(entities: TenantEntityManager): Promise<SandboxPolicy | undefined> {
  const row = await entities.findOne(SandboxPolicyRow, {});
  if (row === null) return undefined;
  const { enabled, maxTimeoutSeconds, allowDocker, restrictNetwork, maxOutputKb } = row;
  const allowedTools = row.allowedTools === null ? null : JSON.parse(row.allowedTools);
  return { enabled, maxTimeoutSeconds, allowedTools, allowDocker, restrictNetwork, maxOutputKb };
}

/** Writes the tenant's own policy, over the one that it has. */
export function savePolicy(
  entities: TenantEntityManager,
  policy: SandboxPolicy,
  updatedAt: Date,
): Promise<void> {
  const { allowedTools, ...rest } = policy;
  const names = allowedTools === null ? null : JSON.stringify(allowedTools);
  return entities.upsert(SandboxPolicyRow, { ...rest, allowedTools: names, updatedAt }, { conflict: [] });
}

/** False where the tenant has no policy of its own. */
export async function deletePolicy(entities: TenantEntityManager): Promise<boolean> {
  return (await entities.delete(SandboxPolicyRow, {})) > 0;
}
