import type { Migration } from 'agent-gateway';

/** Definitions of agents that belong to tenants. A released migration never changes. */
export const agentsMigration: Migration = {
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
