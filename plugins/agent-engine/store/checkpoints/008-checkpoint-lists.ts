import type { Migration } from 'agent-gateway';

/** What waits for decisions can be listed, by whose it is, without the runs themselves. */
export const checkpointLists: Migration = {
  name: '008-checkpoint-lists',
  up: (schema, types) => [
    schema.alterTable('agent_checkpoints').addColumn('identity_id', types.string(255)),
    schema.alterTable('agent_checkpoints').addColumn('user_id', types.string(255)),
    schema.alterTable('agent_checkpoints').addColumn('interrupts', types.text),
    schema
      .createIndex('agent_checkpoints_newest')
      .on('agent_checkpoints')
      .columns(['tenant_id', 'created_at', 'id']),
  ],
};
