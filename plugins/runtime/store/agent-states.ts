import { column, defineEntity, type TenantEntityManager } from 'agent-gateway';

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

/** A key with its value as JSON text. */
export interface AgentStateRow {
  readonly agentId: string;
  readonly key: string;
  readonly value: string;
  readonly size: number;
  readonly updatedAt: Date;
}

/** The keys of an agent with the sizes of their values, `limit` of them. */
export function findSizes(entities: TenantEntityManager, agentId: string, limit: number) {
  return entities.rows(AgentStateEntity, { agentId }, { fields: ['key', 'size'], limit });
}

/** The keys and values of an agent by key, `limit` of them. */
export function findStates(entities: TenantEntityManager, agentId: string, limit: number) {
  return entities.rows(
    AgentStateEntity,
    { agentId },
    { fields: ['key', 'value'], orderBy: { key: 'asc' }, limit },
  );
}

/** The value of a key as JSON text. */
export async function findState(entities: TenantEntityManager, agentId: string, key: string) {
  const [row] = await entities.rows(AgentStateEntity, { agentId, key }, { fields: ['value'], limit: 1 });
  return row?.value;
}

/** Stores a value, replacing that of the same key. */
export function writeState(entities: TenantEntityManager, row: AgentStateRow): Promise<void> {
  return entities.upsert(AgentStateEntity, { ...row }, { conflict: ['agentId', 'key'] });
}

/** False where there is no such key. */
export async function deleteState(entities: TenantEntityManager, agentId: string, key: string) {
  return (await entities.delete(AgentStateEntity, { agentId, key })) > 0;
}

/** Deletes the state of all agents, and returns the number of keys. */
export function eraseStates(entities: TenantEntityManager): Promise<number> {
  return entities.erase(AgentStateEntity, {});
}
