import type { Migration } from 'agent-gateway';

/** Uploaded files. */
export const filesMigration: Migration = {
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
    schema.createIndex('files_created').on('files').columns(['tenant_id', 'created_at', 'id']),
    schema
      .createIndex('files_owner')
      .on('files')
      .columns(['tenant_id', 'identity_id', 'user_id', 'created_at']),
  ],
};
