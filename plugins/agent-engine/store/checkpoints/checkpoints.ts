import { type Clock, column, defineEntity, type Ids } from 'agent-gateway';
import { AgentErrors, type Checkpoint, type Checkpoints } from '../../contract.ts';

/** A paused run of a session. One for each agent of the session: the table cannot grow beyond what sessions there are. */
export const AgentCheckpoint = defineEntity({
  name: 'AgentCheckpoint',
  tableName: 'agent_checkpoints',
  uniques: [{ name: 'agent_checkpoints_place', properties: ['tenantId', 'sessionId', 'agent'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    sessionId: column.string(128),
    /** Empty for the default agent. */
    agent: column.string(128),
    /** Changes with every new pause, so that nobody takes another one than he looked at. */
    checkpointId: column.id(),
    /** JSON text, which escapes what databases refuse in text (U+0000, lone surrogates). */
    state: column.text(),
    createdAt: column.time(),
  },
});

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
