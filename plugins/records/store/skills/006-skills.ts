import type { Migration } from 'agent-gateway';

/** Which built-in skills a tenant has got. */
export const skillsMigration: Migration = {
  name: '006-skills',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('skill_provisionings')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull().primaryKey())
      .addColumn('catalog', types.string(64))
      .addColumn('failures', types.integer, (is) => is.notNull())
      .addColumn('next_attempt_at', types.time)
      .addColumn('updated_at', types.time, (is) => is.notNull()),
  ],
};
