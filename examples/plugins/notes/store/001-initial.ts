import type { Migration } from 'agent-gateway';

/** The table of the notes. A released migration never changes: the next wish is `002-…`. */
export const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('notes')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('text', types.string(2000), (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('notes', 'created', ['tenant_id', 'created_at', 'id']),
  ],
};
