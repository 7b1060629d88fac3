import type { Migration } from 'agent-gateway';

/** State of agents. */
export const agentStates: Migration = {
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
