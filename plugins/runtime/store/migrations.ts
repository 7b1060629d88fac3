import type { Migration } from 'agent-gateway';

/** State of agents. */
const agentStates: Migration = {
  name: '001-agent-states',
  up: (schema, types) => [
    schema
      .createTable('agent_states')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('agent_id', types.string(128), (is) => is.notNull())
      .addColumn('key', types.string(128), (is) => is.notNull())
      .addColumn('value', types.text, (is) => is.notNull())
      .addColumn('size', types.integer, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('agent_states_pkey', ['tenant_id', 'agent_id', 'key']),
  ],
};

/** Uploaded files. */
const filesMigration: Migration = {
  name: '002-files',
  up: (schema, types) => [
    schema
      .createTable('files')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('filename', types.string(255), (is) => is.notNull())
      .addColumn('mime_type', types.string(150), (is) => is.notNull())
      .addColumn('size', types.bigint, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('files', 'created', ['tenant_id', 'created_at', 'id']),
    schema.index('files', 'owner', ['tenant_id', 'identity_id', 'user_id', 'created_at']),
  ],
};

/** Conversations of users with agents. */
const conversations: Migration = {
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
    schema.index('runtime_conversations', 'newest', ['tenant_id', 'created_at', 'id']),
    schema.index('runtime_conversations', 'owner', ['tenant_id', 'identity_id', 'user_id', 'created_at']),
  ],
};

/** Webhooks, their deliveries, and the log of attempts. */
const webhooksMigration: Migration = {
  name: '004-webhooks',
  up: (schema, types) => [
    schema
      .createTable('runtime_webhooks')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('url', types.text, (is) => is.notNull())
      .addColumn('events', types.text, (is) => is.notNull())
      .addColumn('description', types.text, (is) => is.notNull())
      .addColumn('active', types.boolean, (is) => is.notNull())
      .addColumn('secret', types.text, (is) => is.notNull())
      .addColumn('previous_secret', types.text)
      .addColumn('previous_until', types.bigint)
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_webhooks_pkey', ['tenant_id', 'id']),
    schema
      .createTable('runtime_webhook_deliveries')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('webhook_id', types.id, (is) => is.notNull())
      .addColumn('event_id', types.string(64), (is) => is.notNull())
      .addColumn('event_type', types.string(64), (is) => is.notNull())
      .addColumn('user_id', types.string(256))
      .addColumn('attempt', types.integer, (is) => is.notNull())
      .addColumn('body', types.text, (is) => is.notNull())
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_webhook_deliveries_pkey', ['tenant_id', 'id']),
    schema.index('runtime_webhook_deliveries', 'webhook', ['tenant_id', 'webhook_id']),
    schema.index('runtime_webhook_deliveries', 'created', ['created_at']),
    schema
      .createTable('runtime_webhook_logs')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('webhook_id', types.id, (is) => is.notNull())
      .addColumn('event_id', types.string(64), (is) => is.notNull())
      .addColumn('event_type', types.string(64), (is) => is.notNull())
      .addColumn('status_code', types.integer)
      .addColumn('attempt', types.integer, (is) => is.notNull())
      .addColumn('duration_ms', types.integer, (is) => is.notNull())
      .addColumn('error', types.text)
      .addColumn('delivered_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_webhook_logs_pkey', ['tenant_id', 'id']),
    schema.index('runtime_webhook_logs', 'webhook', ['tenant_id', 'webhook_id', 'id']),
    schema.index('runtime_webhook_logs', 'delivered', ['delivered_at']),
  ],
};

/** Definitions of agents that belong to tenants. */
const agentsMigration: Migration = {
  name: '005-agents',
  up: (schema, types) => [
    schema
      .createTable('runtime_agents')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('name', types.string(63), (is) => is.notNull())
      .addColumn('outline', types.text, (is) => is.notNull())
      .addColumn('definition', types.text, (is) => is.notNull())
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addColumn('updated_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_agents_pkey', ['tenant_id', 'name']),
  ],
};

/** Chats of the v3 API. */
const chatsMigration: Migration = {
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
    schema.index('runtime_chats', 'conversation', ['tenant_id', 'conversation_id']),
    schema.index('runtime_chats', 'created', ['tenant_id', 'created_at']),
  ],
};

/** The people who work with the API of tenants. */
const usersMigration: Migration = {
  name: '007-users',
  up: (schema, types) => [
    schema
      .createTable('runtime_users')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('name', types.text, (is) => is.notNull())
      .addColumn('email', types.string(254), (is) => is.notNull())
      .addColumn('email_key', types.string(512), (is) => is.notNull())
      .addColumn('role', types.string(16), (is) => is.notNull())
      .addColumn('disabled', types.boolean, (is) => is.notNull())
      .addColumn('key_id', types.id, (is) => is.notNull())
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_users_pkey', ['tenant_id', 'id']),
    schema.index('runtime_users', 'email', ['tenant_id', 'email_key']).unique(),
  ],
};

/** Events of chats in the background. */
const chatEventsMigration: Migration = {
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
    schema.index('runtime_chat_events', 'session', ['tenant_id', 'session_id', 'seq', 'created_at']),
    schema.index('runtime_chat_events', 'created', ['created_at']),
  ],
};

/** Old chats are searched in all tenants at once. */
const chatsByAge: Migration = {
  name: '009-chats-by-age',
  up: (schema) => [
    schema.index('runtime_chats', 'age', ['created_at']),
    schema.dropIndex('runtime_chats_created', 'runtime_chats'),
  ],
};

/**
 * Conversations and files of an identity, and conversations with an agent, are read in the order of their lists.
 */
const lists: Migration = {
  name: '010-lists',
  up: (schema) => [
    schema.index('runtime_conversations', 'identity', ['tenant_id', 'identity_id', 'created_at', 'id']),
    schema.index('runtime_conversations', 'bot', ['tenant_id', 'bot_id', 'created_at', 'id']),
    schema.index('files', 'identity', ['tenant_id', 'identity_id', 'created_at', 'id']),
  ],
};

/** The migrations of the runtime, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  agentStates,
  filesMigration,
  conversations,
  webhooksMigration,
  agentsMigration,
  chatsMigration,
  usersMigration,
  chatEventsMigration,
  chatsByAge,
  lists,
];
