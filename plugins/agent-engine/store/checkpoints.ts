import {
  type Clock,
  column,
  type Database,
  defineEntity,
  type Ids,
  type RetainedRecords,
  retainedRows,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';
import { OWNER_LENGTH, ownerOf, visibleTo } from '../../records/contract.ts';
import { AgentErrors, type Checkpoint, type Checkpoints } from '../contract.ts';

/**
 * A paused run of a session. One for each agent of the session: the table cannot grow beyond what sessions there are.
 */
export const AgentCheckpoint = defineEntity({
  name: 'AgentCheckpoint',
  tableName: 'agent_checkpoints',
  uniques: [{ name: 'agent_checkpoints_place', properties: ['tenantId', 'sessionId', 'agent'] }],
  indexes: [{ name: 'agent_checkpoints_newest', properties: ['tenantId', 'createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    sessionId: column.string(128),
    /** Empty for the default agent. */
    agent: column.string(128),
    /** Of the session's owner; null in rows of a time before these columns, which administrators alone see in lists. */
    identityId: column.string(OWNER_LENGTH).nullable(),
    userId: column.string(OWNER_LENGTH).nullable(),
    /** Changes with every new pause, so that a caller cannot take another checkpoint than the one that it read. */
    checkpointId: column.id(),
    /**
     * JSON text, which escapes what databases refuse in text (U+0000, lone surrogates). Null in rows of a time before
     * this column.
     */
    interrupts: column.text().nullable(),
    /** The whole checkpoint, as JSON text. */
    state: column.text(),
    createdAt: column.time(),
  },
});

/** Characters of a checkpoint's JSON at most; nearly all of it is ASCII. */
export const MAX_CHECKPOINT = 1024 * 1024;

/** Checkpoints in the database. */
export function createCheckpoints({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }): Checkpoints {
  return {
    save({ sessionId, agent, principal, checkpoint }) {
      const state = JSON.stringify(checkpoint);
      if (state.length > MAX_CHECKPOINT)
        throw AgentErrors.checkpointTooLarge(
          'The conversation is too large to be kept while an answer is awaited. Begin a new session.',
        );
      const place = { sessionId, agent, checkpointId: checkpoint.id, ...ownerOf(principal) };
      const interrupts = JSON.stringify(checkpoint.interrupts);
      const createdAt = new Date(clock.now());
      return writes.insert(AgentCheckpoint, [{ id: ids.uuid(), ...place, interrupts, state, createdAt }]);
    },
    // Of all callers that try, the database lets one remove the row.
    take: ({ sessionId, agent, checkpointId }) =>
      writes.delete(AgentCheckpoint, { sessionId, agent, checkpointId }, { expect: 1 }),
    async find(entities, { sessionId, agent }) {
      const [row] = await entities.rows(AgentCheckpoint, { sessionId, agent }, { limit: 1 });
      if (row === undefined) return undefined;
      const checkpoint = JSON.parse(row.state) as Checkpoint;
      return { sessionId, agent, checkpoint, createdAt: row.createdAt };
    },
    async list(entities, reader, { limit, offset }) {
      const where = visibleTo(reader);
      const orderBy = { createdAt: 'desc', id: 'desc' } as const;
      const fields = ['sessionId', 'agent', 'checkpointId', 'interrupts', 'createdAt'] as const;
      const rows = await entities.rows(AgentCheckpoint, where, { orderBy, limit, offset, fields });
      const open = rows.map(({ sessionId, agent, checkpointId, interrupts, createdAt }) => {
        return { sessionId, agent, id: checkpointId, interrupts: JSON.parse(interrupts ?? '[]'), createdAt };
      });
      return { open, total: await entities.count(AgentCheckpoint, where) };
    },
  };
}

/** Paused runs that no caller has resumed. */
export function retainedCheckpoints(database: Pick<Database, 'forTenant' | 'system'>): RetainedRecords {
  return retainedRows(database, {
    name: 'agent_checkpoints',
    summary: 'Paused runs of agents whose question has not been answered, by the time of the question',
    entity: AgentCheckpoint,
    older: (before) => ({ createdAt: { $lt: before } }),
  });
}

/** Removes all checkpoints of a session; returns how many there were. */
export function forgetCheckpoints(entities: TenantEntityManager, sessionId: string): Promise<number> {
  return entities.delete(AgentCheckpoint, { sessionId });
}
