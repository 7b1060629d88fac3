import type { Migration } from 'agent-gateway';

/** Events of chats in the background. */
export const chatEventsMigration: Migration = {
  name: '008-chat-events',
  up: (schema, types) => [
    schema
      .createTable('runtime_chat_events')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('chat_id', types.id, (is) => is.notNull())
      .addColumn('seq', types.integer, (is) => is.notNull())
      .addColumn('session_id', types.string(128), (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('events', types.text, (is) => is.notNull())
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_chat_events_pkey', ['tenant_id', 'chat_id', 'seq']),
    schema
      .createIndex('runtime_chat_events_session')
      .on('runtime_chat_events')
      .columns(['tenant_id', 'session_id', 'seq', 'created_at']),
    schema.createIndex('runtime_chat_events_created').on('runtime_chat_events').columns(['created_at']),
  ],
};
