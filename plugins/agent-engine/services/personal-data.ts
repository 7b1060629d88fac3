import type { Database, PersonalData } from 'agent-gateway';
import { storedName } from '../../records/contract.ts';
import { type Guard, redactValue } from '../contract.ts';
import { AgentCheckpoint, allCheckpoints, eraseCheckpoints } from '../store/checkpoints/checkpoints.ts';

/** What the engine keeps about people (decisions 1.5): runs of agents that wait for decisions, each with its conversation so far, redacted. */
export function createPersonalData({
  database,
  guard,
}: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly guard: Guard;
}): PersonalData {
  const nameOf = (userId: string | undefined) => (userId === undefined ? undefined : storedName(userId));
  return {
    name: 'agent-engine',
    sections: [
      {
        name: 'agent_checkpoints',
        entities: [AgentCheckpoint],
        async *read({ tenantId, userId }) {
          for await (const row of allCheckpoints(database.forTenant(tenantId), nameOf(userId))) {
            const { sessionId, agent, identityId, checkpointId, state, createdAt } = row;
            yield {
              ...{ checkpoint_id: checkpointId, session_id: sessionId, agent },
              ...{ identity_id: identityId, user_id: row.userId },
              ...{ state: redactValue(JSON.parse(state), guard), created_at: createdAt },
            };
          }
        },
      },
    ],
    erase: async (entities, { userId }) => ({
      agent_checkpoints: await eraseCheckpoints(entities, nameOf(userId)),
    }),
  };
}
