import type { Migration } from 'agent-gateway';

/** The sandbox policies of tenants that have one of their own. */
export const sandboxPolicies: Migration = {
  name: '004-sandbox-policies',
  up: (schema, types) => [
    schema
      .createTable('sandbox_policies')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull().primaryKey())
      .addColumn('enabled', types.boolean, (is) => is.notNull())
      .addColumn('max_timeout_seconds', types.integer, (is) => is.notNull())
      .addColumn('allowed_tools', types.text)
      .addColumn('allow_docker', types.boolean, (is) => is.notNull())
      .addColumn('restrict_network', types.boolean, (is) => is.notNull())
      .addColumn('max_output_kb', types.integer, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
  ],
};
