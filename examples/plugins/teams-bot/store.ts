import { column, defineEntity, type Migration } from 'agent-gateway';

/**
 * A message of Teams, from its arrival to the delivery of its answer. Its key makes a message that comes twice one
 * message.
 */
export const Message = defineEntity({
  name: 'TeamsMessage',
  tableName: 'teams_bot_messages',
  indexes: [{ name: 'teams_bot_messages_state', properties: ['state', 'receivedAt'] }],
  properties: {
    tenantId: column.tenant().primary(),
    hook: column.string(63).primary(),
    id: column.string(128).primary(),
    conversation: column.string(128),
    userId: column.string(128),
    state: column.string(16).$type<'received' | 'answered' | 'delivered'>(),
    /** What is to be said next: the question, then the answer; of a message that is done nothing. */
    text: column.text(),
    receivedAt: column.time(),
  },
});

export const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('teams_bot_messages')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('hook', types.string(63), (is) => is.notNull())
      .addColumn('id', types.string(128), (is) => is.notNull())
      .addColumn('conversation', types.string(128), (is) => is.notNull())
      .addColumn('user_id', types.string(128), (is) => is.notNull())
      .addColumn('state', types.string(16), (is) => is.notNull())
      .addColumn('text', types.text, (is) => is.notNull())
      .addColumn('received_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('teams_bot_messages_pkey', ['tenant_id', 'hook', 'id']),
    schema.index('teams_bot_messages', 'state', ['state', 'received_at']),
  ],
};
