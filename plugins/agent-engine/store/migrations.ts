import type { Migration, MovedMigration } from 'agent-gateway';

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
    schema.index('agent_checkpoints', 'place', ['tenant_id', 'session_id', 'agent']).unique(),
  ],
};

/** What waits for decisions can be listed, by whose it is, without the runs themselves. */
export const checkpointLists: Migration = {
  name: '008-checkpoint-lists',
  up: (schema, types) => [
    schema.alterTable('agent_checkpoints').addColumn('identity_id', types.string(255)),
    schema.alterTable('agent_checkpoints').addColumn('user_id', types.string(255)),
    schema.alterTable('agent_checkpoints').addColumn('interrupts', types.text),
    schema.index('agent_checkpoints', 'newest', ['tenant_id', 'created_at', 'id']),
  ],
};

const moved = (name: string): MovedMigration => ({ name, movedTo: 'records' });

/**
 * Their migrations, in order. A released one never changes. Those of sessions, receipts, usage, memories and skills
 * went to `records`.
 */
export const migrations: readonly (Migration | MovedMigration)[] = [
  moved('001-sessions'),
  moved('002-receipts'),
  moved('003-usage'),
  sandboxPolicies,
  moved('005-memories'),
  moved('006-skills'),
  checkpoints,
  checkpointLists,
];
