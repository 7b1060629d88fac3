import { column, defineEntity } from 'agent-gateway';

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
