import type { Migration } from 'agent-gateway';

/** The sessions and their messages. A released migration never changes. */
export const sessions: Migration = {
  name: '001-sessions',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('sessions')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.string(128), (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('model', types.string(255), (is) => is.notNull())
      .addColumn('turns', types.integer, (is) => is.notNull())
      .addColumn('message_count', types.integer, (is) => is.notNull())
      .addColumn('message_bytes', types.bigint, (is) => is.notNull())
      .addColumn('input_tokens', types.bigint, (is) => is.notNull())
      .addColumn('output_tokens', types.bigint, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('sessions_pkey', ['tenant_id', 'id']),
    schema.createIndex('sessions_updated').on('sessions').columns(['tenant_id', 'updated_at', 'id']),
    schema
      .createIndex('sessions_owner')
      .on('sessions')
      .columns(['tenant_id', 'identity_id', 'user_id', 'updated_at']),
    schema
      .createTable('session_messages')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('session_id', types.string(128), (is) => is.notNull())
      .addColumn('seq', types.integer, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('turn', types.integer, (is) => is.notNull())
      .addColumn('role', types.string(32), (is) => is.notNull())
      .addColumn('message', types.text, (is) => is.notNull())
      .addColumn('token_count', types.integer, (is) => is.notNull())
      .addColumn('bytes', types.integer, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('session_messages_pkey', ['tenant_id', 'session_id', 'seq']),
  ],
};
