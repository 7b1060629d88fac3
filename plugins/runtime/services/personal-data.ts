import type { Database } from 'agent-gateway';
import type { PersonalData } from '../../platform/contract.ts';
import { allStates, eraseStates } from '../store/agent-states.ts';

/** Values that are read at one time. */
const PAGE = 50;

/** What the runtime keeps about people (decisions 1.5): the state of agents, which belongs to the tenant and to no user. */
export function createPersonalData({ database }: { readonly database: Database }): PersonalData {
  return {
    name: 'runtime',

    async *export({ tenantId, userId, signal }) {
      if (userId !== undefined) return;
      for await (const { agentId, key, value, updatedAt } of allStates(database.forTenant(tenantId), PAGE)) {
        if (signal.aborted) return;
        yield {
          section: 'agent_states',
          record: { agent_id: agentId, key, value: JSON.parse(value), updated_at: updatedAt.toISOString() },
        };
      }
    },

    erase: async (entities, { userId }) => ({
      agent_states: userId === undefined ? await eraseStates(entities) : 0,
    }),
  };
}
