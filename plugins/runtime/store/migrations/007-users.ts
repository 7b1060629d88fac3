import type { Migration } from 'agent-gateway';

/** The people who work with the API of tenants. A released migration never changes. */
export const usersMigration: Migration = {
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
    schema
      .createIndex('runtime_users_email')
      .unique()
      .on('runtime_users')
      .columns(['tenant_id', 'email_key']),
  ],
};
