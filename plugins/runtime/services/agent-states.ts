import { type Clock, defineErrors, type TenantEntityManager } from 'agent-gateway';
import { AgentErrors, type Agents } from '../../agent-engine/contract.ts';
import { AgentStateEntity } from '../store/agent-states.ts';

/** Keys of an agent. */
const MAX_KEYS = 1000;
/** Bytes of a value as JSON. */
const MAX_VALUE = 64 * 1024;
/** Bytes of all values of an agent: they are read together. */
const MAX_TOTAL = 8 * 1024 * 1024;

/** The errors of the state of agents. */
export const AgentStateErrors = defineErrors({
  notFound: { code: 'agent-state.not-found', kind: 'not-found', title: 'The agent has no such key' },
  valueTooLarge: { code: 'agent-state.value-too-large', kind: 'too-large', title: 'The value is too large' },
  full: { code: 'agent-state.full', kind: 'conflict', title: 'The agent keeps as much as it may' },
});

/** The dependencies of `createAgentStates`. */
interface AgentStatesParts {
  readonly agents: Pick<Agents, 'find'>;
  readonly clock: Clock;
}

/** The state of agents, by tenant and agent. */
export type AgentStates = ReturnType<typeof createAgentStates>;

/**
 * Makes the service behind the routes. Every method throws `agent.not-found` for an agent that does not exist now; its
 * stored state is available again when it comes back.
 */
export function createAgentStates({ agents, clock }: AgentStatesParts) {
  async function requireAgent({ tenantId }: TenantEntityManager, agentId: string): Promise<void> {
    if ((await agents.find(tenantId, agentId)) === undefined) throw AgentErrors.notFound();
  }

  return {
    /** All keys with their values. */
    async all(entities: TenantEntityManager, agentId: string): Promise<ReadonlyMap<string, unknown>> {
      await requireAgent(entities, agentId);
      // Concurrent writers may have exceeded the bound a little.
      const query = { fields: ['key', 'value'], orderBy: { key: 'asc' }, limit: 2 * MAX_KEYS } as const;
      const rows = await entities.rows(AgentStateEntity, { agentId }, query);
      return new Map(rows.map(({ key, value }) => [key, JSON.parse(value)]));
    },

    /** @throws agent-state.not-found */
    async get(entities: TenantEntityManager, agentId: string, key: string): Promise<unknown> {
      await requireAgent(entities, agentId);
      const [row] = await entities.rows(AgentStateEntity, { agentId, key }, { fields: ['value'], limit: 1 });
      if (row === undefined) throw AgentStateErrors.notFound();
      return JSON.parse(row.value);
    },

    /**
     * Stores a JSON value, replacing that of the same key.
     *
     * @throws agent-state.value-too-large, agent-state.full
     */
    async set(entities: TenantEntityManager, agentId: string, key: string, value: unknown): Promise<void> {
      await requireAgent(entities, agentId);
      const text = JSON.stringify(value);
      const size = Buffer.byteLength(text);
      if (size > MAX_VALUE) {
        throw AgentStateErrors.valueTooLarge(`A value may have ${MAX_VALUE} bytes as JSON`, {
          errors: [{ pointer: '/body/value', message: `must have ${MAX_VALUE} bytes at most as JSON` }],
        });
      }
      const query = { fields: ['key', 'size'], limit: 2 * MAX_KEYS } as const;
      const rows = await entities.rows(AgentStateEntity, { agentId }, query);
      const others = rows.filter((row) => row.key !== key);
      if (others.length >= MAX_KEYS) throw AgentStateErrors.full(`An agent may keep ${MAX_KEYS} keys`);
      if (others.reduce((sum, row) => sum + row.size, size) > MAX_TOTAL) {
        throw AgentStateErrors.full(`All values of an agent may have ${MAX_TOTAL} bytes together`);
      }
      const state = { agentId, key, value: text, size, updatedAt: new Date(clock.now()) };
      await entities.upsert(AgentStateEntity, state, { conflict: ['agentId', 'key'] });
    },

    /** @throws agent-state.not-found */
    async remove(entities: TenantEntityManager, agentId: string, key: string): Promise<void> {
      await requireAgent(entities, agentId);
      const deleted = await entities.delete(AgentStateEntity, { agentId, key });
      if (deleted === 0) throw AgentStateErrors.notFound();
    },
  };
}
