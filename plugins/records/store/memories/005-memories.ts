import type { Migration } from 'agent-gateway';

/** Memories and profiles of users. */
export const memoriesMigration: Migration = {
  name: '005-memories',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('memories')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('key', types.string(128), (is) => is.notNull())
      .addColumn('value', types.text, (is) => is.notNull())
      .addColumn('metadata', types.text, (is) => is.notNull())
      .addColumn('embedding', types.blob)
      .addColumn('embedding_id', types.string(255))
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.createIndex('memories_key').unique().on('memories').columns(['tenant_id', 'user_id', 'key']),
    schema
      .createTable('profiles')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('text', types.text, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.createIndex('profiles_user').unique().on('profiles').columns(['tenant_id', 'user_id']),
  ],
};
