import { column, defineEntity } from 'agent-gateway';

/** Characters of an agent's name at most. */
const MAX_AGENT_NAME = 128;

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
    agent: column.string(MAX_AGENT_NAME),
    /** Changes with every new pause, so that nobody takes another one than he looked at. */
    checkpointId: column.id(),
    /** JSON text, which escapes what databases refuse in text (U+0000, lone surrogates). */
    state: column.text(),
    createdAt: column.time(),
  },
});
