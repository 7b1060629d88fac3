import type { Migration } from 'agent-gateway';

/** Conversations of users with agents. */
export const conversations: Migration = {
  name: '003-conversations',
  up: (schema, types) => [
    schema
      .createTable('runtime_conversations')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('bot_id', types.string(128), (is) => is.notNull())
      .addColumn('title', types.text, (is) => is.notNull())
      .addColumn('meta_data', types.text, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema
      .createIndex('runtime_conversations_newest')
      .on('runtime_conversations')
      .columns(['tenant_id', 'created_at', 'id']),
    schema
      .createIndex('runtime_conversations_owner')
      .on('runtime_conversations')
      .columns(['tenant_id', 'identity_id', 'user_id', 'created_at']),
  ],
};
