import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { ofOwner, storedName } from '../../records/contract.ts';
import { type Guard, redactValue } from '../contract.ts';
import { AgentCheckpoint } from '../store/checkpoints.ts';

/** Oldest first, few at one time: each may have a megabyte. */
const QUERY = { by: ['createdAt', 'id'], page: 5 } as const;

/**
 * What the engine keeps about people (decisions 1.5): runs of agents that wait for decisions, each with its
 * conversation so far, redacted.
 */
export function createPersonalData({
  database,
  guard,
}: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly guard: Guard;
}): PersonalData {
  const ofUser = (userId: string | undefined) =>
    ofOwner(userId === undefined ? undefined : storedName(userId));
  return {
    name: 'agent-engine',
    sections: [
      {
        name: 'agent_checkpoints',
        entities: [AgentCheckpoint],
        async *read({ tenantId, userId }) {
          const entities = database.forTenant(tenantId);
          for (const where of ofUser(userId)) {
            for await (const row of eachRow(entities, AgentCheckpoint, where, QUERY)) {
              const { sessionId, agent, identityId, checkpointId, state, createdAt } = row;
              yield {
                checkpoint_id: checkpointId,
                session_id: sessionId,
                agent,
                identity_id: identityId,
                user_id: row.userId,
                state: redactValue(JSON.parse(state), guard),
                created_at: createdAt,
              };
            }
          }
        },
      },
    ],
    async erase(entities, { userId }) {
      let agent_checkpoints = 0;
      for (const where of ofUser(userId)) agent_checkpoints += await entities.erase(AgentCheckpoint, where);
      return { agent_checkpoints };
    },
  };
}
