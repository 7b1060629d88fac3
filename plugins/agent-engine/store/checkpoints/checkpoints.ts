import type { Clock, Ids } from 'agent-gateway';
import { AgentErrors, type Checkpoint, type Checkpoints } from '../../contract.ts';
import { AgentCheckpoint } from './agent-checkpoint.ts';

/** Characters of a checkpoint's JSON at most; nearly all of it is ASCII. */
export const MAX_CHECKPOINT = 1024 * 1024;

/** Checkpoints in the database. */
export function createCheckpoints({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }): Checkpoints {
  return {
    async save(entities, { sessionId, agent, checkpoint }) {
      const state = JSON.stringify(checkpoint);
      if (state.length > MAX_CHECKPOINT)
        throw AgentErrors.checkpointTooLarge(
          'The conversation is too large to be kept while an answer is awaited. Begin a new session.',
        );
      const createdAt = new Date(clock.now());
      const row = { id: ids.uuid(), sessionId, agent, checkpointId: checkpoint.id, state, createdAt };
      await entities.upsert(AgentCheckpoint, row, { conflict: ['sessionId', 'agent'] });
    },
    async find(entities, { sessionId, agent }) {
      const row = await entities.findOne(AgentCheckpoint, { sessionId, agent });
      if (row === null) return undefined;
      const checkpoint = JSON.parse(row.state) as Checkpoint;
      return { sessionId, agent, checkpoint, createdAt: row.createdAt };
    },
    // One statement with its condition: of all who try, the database lets one remove the row.
    take: async (entities, { sessionId, agent, checkpointId }) =>
      (await entities.delete(AgentCheckpoint, { sessionId, agent, checkpointId })) > 0,
    forget: (entities, sessionId) => entities.delete(AgentCheckpoint, { sessionId }),
  };
}
