import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type RowWrite, type TenantEntityManager, writes } from 'agent-gateway';
import type { TenantAgent } from '../../agent-engine/contract.ts';

/** The definition of an agent that belongs to a tenant. Times are milliseconds since the epoch. */
export const AgentTable = defineEntity({
  name: 'RuntimeAgent',
  tableName: 'runtime_agents',
  properties: {
    tenantId: column.tenant().primary(),
    name: column.string(63).primary(),
    /** JSON text of what lists show (`StoredOutline`), so that they read no definitions. */
    outline: column.text(),
    /** The YAML, as JSON text. */
    definition: column.text(),
    createdAt: column.bigint(),
    updatedAt: column.bigint(),
  },
});

type AgentRow = InferEntity<typeof AgentTable>;

/** A tenant's agent without its definition. */
export interface StoredOutline extends Omit<TenantAgent, 'yaml'> {
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type StoredAgent = StoredOutline & Pick<TenantAgent, 'yaml'>;

const OUTLINE = ['name', 'outline', 'createdAt', 'updatedAt'] as const;

const ofRow = ({ name, outline, createdAt, updatedAt }: Omit<AgentRow, 'tenantId' | 'definition'>) =>
  ({ ...JSON.parse(outline), name, source: 'tenant', createdAt, updatedAt }) as StoredOutline;

const columnsOf = ({ description, type, model, subAgents, yaml }: TenantAgent) => ({
  outline: JSON.stringify({ description, type, model, subAgents }),
  definition: JSON.stringify(yaml),
});

/** All of the tenant, by name, `most` of them. */
export async function allAgents(entities: TenantEntityManager, most: number): Promise<StoredOutline[]> {
  const rows = await entities.rows(
    AgentTable,
    {},
    { fields: OUTLINE, orderBy: { name: 'asc' }, limit: most },
  );
  return rows.map(ofRow);
}

export async function findAgent(
  entities: TenantEntityManager,
  name: string,
): Promise<StoredAgent | undefined> {
  const [row] = await entities.rows(AgentTable, { name }, { limit: 1 });
  return row && { ...ofRow(row), yaml: JSON.parse(row.definition) };
}

/** Fails with a unique violation where the tenant has one of this name. */
export const insertAgent = (agent: TenantAgent, now: number): RowWrite =>
  writes.insert(AgentTable, [{ ...columnsOf(agent), name: agent.name, createdAt: now, updatedAt: now }]);

/** Matches nothing where there is none, or its definition is no longer `from`. */
export const updateAgent = (agent: TenantAgent, from: string, now: number): RowWrite =>
  writes.update(
    AgentTable,
    { name: agent.name, definition: JSON.stringify(from) },
    { ...columnsOf(agent), updatedAt: now },
    { expect: 1 },
  );

/** Matches nothing where there is none. */
export const deleteAgent = (name: string): RowWrite => writes.delete(AgentTable, { name }, { expect: 1 });
