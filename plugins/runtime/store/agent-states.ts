import { column, defineEntity } from 'agent-gateway';

/**
 * A value that an agent of a tenant, or a client, stores under a key. It belongs to the tenant and the agent, to no
 * user.
 */
export const AgentStateEntity = defineEntity({
  name: 'AgentState',
  tableName: 'agent_states',
  properties: {
    tenantId: column.tenant().primary(),
    agentId: column.string(128).primary(),
    key: column.string(128).primary(),
    /** JSON text, which escapes what databases refuse in text (U+0000, lone surrogates). */
    value: column.text(),
    /** Bytes of the value. */
    size: column.integer(),
    updatedAt: column.time(),
  },
});
