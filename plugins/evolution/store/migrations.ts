import type { Migration } from 'agent-gateway';

/** Genes, tombstones, tasks and learners, and sharing policies. A released migration never changes. */
const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('evolution_genes')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('label', types.string(200), (is) => is.notNull())
      .addColumn('signal_type', types.string(32), (is) => is.notNull())
      .addColumn('agent_name', types.string(128), (is) => is.notNull())
      .addColumn('task_class', types.string(128), (is) => is.notNull())
      .addColumn('component', types.string(128), (is) => is.notNull())
      .addColumn('signals', types.json, (is) => is.notNull())
      .addColumn('strategy', types.json, (is) => is.notNull())
      .addColumn('validation', types.json, (is) => is.notNull())
      .addColumn('confidence', types.double, (is) => is.notNull().defaultTo(0.5))
      .addColumn('use_count', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('success_count', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('wins', types.double, (is) => is.notNull().defaultTo(0))
      .addColumn('losses', types.double, (is) => is.notNull().defaultTo(0))
      .addColumn('sessions', types.json, (is) => is.notNull())
      .addColumn('state', types.string(16), (is) => is.notNull())
      .addColumn('source', types.string(8), (is) => is.notNull())
      .addColumn('contributor', types.string(128))
      .addColumn('sender_id', types.string(128))
      .addColumn('content_hash', types.string(64), (is) => is.notNull())
      .addColumn('version', types.integer, (is) => is.notNull().defaultTo(1))
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema
      .index('evolution_genes', 'key', ['tenant_id', 'agent_name', 'task_class', 'component', 'source'])
      .unique(),
    schema.index('evolution_genes', 'confidence', ['tenant_id', 'confidence', 'id']),
    schema.index('evolution_genes', 'updated', ['tenant_id', 'updated_at', 'id']),

    schema
      .createTable('evolution_tombstones')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('content_hash', types.string(64), (is) => is.notNull())
      .addColumn('reason', types.string(500), (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('evolution_tombstones', 'hash', ['tenant_id', 'content_hash']).unique(),

    schema
      .createTable('evolution_tasks')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('agent_name', types.string(128), (is) => is.notNull())
      .addColumn('task_class', types.string(128))
      .addColumn('features', types.json, (is) => is.notNull())
      .addColumn('components', types.json, (is) => is.notNull())
      .addColumn('session', types.string(64))
      .addColumn('arm', types.string(8), (is) => is.notNull())
      .addColumn('advised', types.json, (is) => is.notNull())
      .addColumn('outcome', types.boolean)
      .addColumn('is_counted', types.boolean, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('evolution_tasks', 'window', ['tenant_id', 'agent_name', 'id']),
    schema.index('evolution_tasks', 'fresh', ['is_counted', 'tenant_id', 'agent_name', 'id']),

    schema
      .createTable('evolution_learners')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('agent_name', types.string(128), (is) => is.notNull())
      .addColumn('classes', types.json, (is) => is.notNull())
      .addColumn('tasks_since', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.index('evolution_learners', 'agent', ['tenant_id', 'agent_name']).unique(),

    schema
      .createTable('evolution_outcomes')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('agent_name', types.string(128), (is) => is.notNull())
      .addColumn('day', types.string(10), (is) => is.notNull())
      .addColumn('arm', types.string(8), (is) => is.notNull())
      .addColumn('tasks', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('successes', types.integer, (is) => is.notNull().defaultTo(0)),
    schema.index('evolution_outcomes', 'key', ['tenant_id', 'agent_name', 'day', 'arm']).unique(),

    schema
      .createTable('evolution_sharing_global')
      .addColumn('version', types.integer, (is) => is.notNull().primaryKey())
      .addColumn('mode', types.string(16), (is) => is.notNull())
      .addColumn('reason', types.string(500))
      .addColumn('updated_by', types.string(256), (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),

    schema
      .createTable('evolution_sharing_tenant')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('version', types.integer, (is) => is.notNull())
      .addColumn('consume_shared', types.boolean, (is) => is.notNull())
      .addColumn('contribution_mode', types.string(16), (is) => is.notNull())
      .addColumn('labels', types.json, (is) => is.notNull())
      .addColumn('reason', types.string(500))
      .addColumn('updated_by', types.string(256), (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.index('evolution_sharing_tenant', 'version', ['tenant_id', 'version']).unique(),
  ],
};

/** When a contributor revokes a content, its copies are searched in all tenants. */
const content: Migration = {
  name: '002-content',
  up: (schema) => [schema.index('evolution_genes', 'content', ['content_hash', 'tenant_id'])],
};

/** The migrations of evolution, in order. */
export const migrations: readonly Migration[] = [initial, content];
