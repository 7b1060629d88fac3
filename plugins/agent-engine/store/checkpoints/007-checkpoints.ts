import type { Migration } from 'agent-gateway';

/** Paused runs of agents. */
export const checkpoints: Migration = {
  name: '007-checkpoints',
  up: (schema, types) => [
    schema
      .createTable('agent_checkpoints')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('session_id', types.string(128), (is) => is.notNull())
      .addColumn('agent', types.string(128), (is) => is.notNull())
      .addColumn('checkpoint_id', types.id, (is) => is.notNull())
      .addColumn('state', types.text, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema
      .createIndex('agent_checkpoints_place')
      .unique()
      .on('agent_checkpoints')
      .columns(['tenant_id', 'session_id', 'agent']),
  ],
};
