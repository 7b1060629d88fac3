import type { Migration } from 'agent-gateway';

/** Chats of the v3 API. */
export const chatsMigration: Migration = {
  name: '006-chats',
  up: (schema, types) => [
    schema
      .createTable('runtime_chats')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('conversation_id', types.string(128), (is) => is.notNull())
      .addColumn('bot_id', types.string(128), (is) => is.notNull())
      .addColumn('status', types.string(16), (is) => is.notNull())
      .addColumn('meta_data', types.text, (is) => is.notNull())
      .addColumn('result', types.text, (is) => is.notNull())
      .addColumn('messages', types.text, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('completed_at', types.time),
    schema
      .createIndex('runtime_chats_conversation')
      .on('runtime_chats')
      .columns(['tenant_id', 'conversation_id']),
    schema.createIndex('runtime_chats_created').on('runtime_chats').columns(['tenant_id', 'created_at']),
  ],
};
