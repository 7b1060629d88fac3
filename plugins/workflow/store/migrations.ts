import type { Migration } from 'agent-gateway';
import { LENGTHS } from './rows.ts';

/**
 * The tables of an engine. A released migration never changes.
 *
 * Keys begin with the tenant, as all conditions do: while PostgreSQL has no statistics of a table yet, it otherwise
 * rates any index that begins with the tenant as good as the key, and reads all rows of the tenant to find one.
 */
export function runsMigration(name: string): Migration {
  return {
    name: '001-runs',
    up: (schema, types) => [
      schema
        .createTable(`${name}_runs`)
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('id', types.id, (is) => is.notNull())
        .addColumn('definition_id', types.string(LENGTHS.definitionId), (is) => is.notNull())
        .addColumn('version_id', types.id, (is) => is.notNull())
        .addColumn('version', types.integer, (is) => is.notNull())
        .addColumn('status', types.string(LENGTHS.status), (is) => is.notNull())
        .addColumn('revision', types.integer, (is) => is.notNull())
        .addColumn('seq', types.integer, (is) => is.notNull())
        .addColumn('input', types.text, (is) => is.notNull())
        .addColumn('variables', types.text, (is) => is.notNull())
        .addColumn('error', types.text)
        .addColumn('owner', types.string(LENGTHS.worker))
        .addColumn('wake_at', types.bigint)
        .addColumn('started_by', types.string(LENGTHS.identity), (is) => is.notNull())
        .addColumn('started_at', types.bigint, (is) => is.notNull())
        .addColumn('completed_at', types.bigint)
        .addColumn('updated_at', types.bigint, (is) => is.notNull())
        .addPrimaryKeyConstraint(`${name}_runs_pkey`, ['tenant_id', 'id']),
      schema.index(`${name}_runs`, 'started', ['tenant_id', 'started_at']),
      schema.index(`${name}_runs`, 'definition', ['tenant_id', 'definition_id', 'started_at']),
      schema.index(`${name}_runs`, 'status', ['tenant_id', 'status', 'started_at']),
      schema.index(`${name}_runs`, 'wake', ['wake_at']),
      schema.index(`${name}_runs`, 'owner', ['owner']),
      schema
        .createTable(`${name}_steps`)
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('id', types.id, (is) => is.notNull())
        .addColumn('run_id', types.id, (is) => is.notNull())
        .addColumn('revision', types.integer, (is) => is.notNull())
        .addColumn('node_id', types.string(LENGTHS.nodeId), (is) => is.notNull())
        .addColumn('status', types.string(LENGTHS.status), (is) => is.notNull())
        .addColumn('attempt', types.integer, (is) => is.notNull())
        .addColumn('delivery', types.integer, (is) => is.notNull())
        .addColumn('lost', types.integer, (is) => is.notNull())
        .addColumn('ready_at', types.bigint)
        .addColumn('due_at', types.bigint)
        .addColumn('created_at', types.bigint, (is) => is.notNull())
        .addColumn('started_at', types.bigint)
        .addColumn('completed_at', types.bigint)
        .addColumn('open_since', types.bigint)
        .addColumn('node_name', types.text, (is) => is.notNull())
        .addColumn('node_type', types.text, (is) => is.notNull())
        .addColumn('assignee', types.text, (is) => is.notNull())
        .addColumn('input', types.text)
        .addColumn('output', types.text)
        .addColumn('outcome', types.text)
        .addColumn('error', types.text)
        .addColumn('taken', types.text)
        .addColumn('completion', types.text)
        .addPrimaryKeyConstraint(`${name}_steps_pkey`, ['tenant_id', 'id']),
      schema.index(`${name}_steps`, 'run', ['tenant_id', 'run_id']),
      schema.index(`${name}_steps`, 'open', ['tenant_id', 'open_since']),
      schema
        .createTable(`${name}_events`)
        .addColumn('run_id', types.id, (is) => is.notNull())
        .addColumn('seq', types.integer, (is) => is.notNull())
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('type', types.string(LENGTHS.eventType), (is) => is.notNull())
        .addColumn('node_id', types.string(LENGTHS.nodeId))
        .addColumn('step_id', types.id)
        .addColumn('data', types.text, (is) => is.notNull())
        .addColumn('created_at', types.bigint, (is) => is.notNull())
        .addPrimaryKeyConstraint(`${name}_events_pkey`, ['run_id', 'seq']),
      schema
        .createTable(`${name}_starts`)
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('key_digest', types.string(LENGTHS.digest), (is) => is.notNull())
        .addColumn('run_id', types.id, (is) => is.notNull())
        .addColumn('fingerprint', types.text, (is) => is.notNull())
        .addPrimaryKeyConstraint(`${name}_starts_pkey`, ['tenant_id', 'key_digest']),
      schema.index(`${name}_starts`, 'run', ['run_id']),
      schema
        .createTable(`${name}_outbox`)
        .addColumn('run_id', types.id, (is) => is.notNull())
        .addColumn('sink', types.string(LENGTHS.sink), (is) => is.notNull())
        .addColumn('from_seq', types.integer, (is) => is.notNull())
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('to_seq', types.integer, (is) => is.notNull())
        .addColumn('created_at', types.bigint, (is) => is.notNull())
        .addColumn('next_at', types.bigint, (is) => is.notNull())
        .addColumn('attempts', types.integer, (is) => is.notNull())
        .addColumn('claim', types.id)
        .addPrimaryKeyConstraint(`${name}_outbox_pkey`, ['run_id', 'sink', 'from_seq']),
      schema.index(`${name}_outbox`, 'next', [
        'sink',
        'next_at',
        'tenant_id',
        'created_at',
        'run_id',
        'from_seq',
      ]),
      schema
        .createTable(`${name}_workers`)
        .addColumn('id', types.string(LENGTHS.worker), (is) => is.notNull().primaryKey())
        .addColumn('expires_at', types.bigint, (is) => is.notNull()),
      schema
        .createTable(`${name}_versions`)
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('id', types.id, (is) => is.notNull())
        .addColumn('definition_id', types.string(LENGTHS.definitionId), (is) => is.notNull())
        .addColumn('version', types.integer, (is) => is.notNull())
        .addColumn('digest', types.string(LENGTHS.digest), (is) => is.notNull())
        .addColumn('graph', types.text, (is) => is.notNull())
        .addColumn('published_by', types.string(LENGTHS.identity), (is) => is.notNull())
        .addColumn('published_at', types.bigint, (is) => is.notNull())
        .addPrimaryKeyConstraint(`${name}_versions_pkey`, ['tenant_id', 'id']),
      schema.index(`${name}_versions`, 'number', ['tenant_id', 'definition_id', 'version']).unique(),
      schema.index(`${name}_versions`, 'digest', ['tenant_id', 'definition_id', 'digest']),
    ],
  };
}

/** The table of definitions, for the gateway's own engine. A released migration never changes. */
export function definitionsMigration(name: string): Migration {
  return {
    name: '002-definitions',
    up: (schema, types) => [
      schema
        .createTable(`${name}_definitions`)
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('id', types.id, (is) => is.notNull())
        .addColumn('name', types.text, (is) => is.notNull())
        .addColumn('description', types.text, (is) => is.notNull())
        .addColumn('graph', types.text, (is) => is.notNull())
        .addColumn('status', types.string(LENGTHS.status), (is) => is.notNull())
        .addColumn('latest_version', types.integer)
        .addColumn('revision', types.integer, (is) => is.notNull())
        .addColumn('created_by', types.string(LENGTHS.identity), (is) => is.notNull())
        .addColumn('created_at', types.bigint, (is) => is.notNull())
        .addColumn('updated_at', types.bigint, (is) => is.notNull())
        .addPrimaryKeyConstraint(`${name}_definitions_pkey`, ['tenant_id', 'id']),
      schema.index(`${name}_definitions`, 'created', ['tenant_id', 'created_at']),
    ],
  };
}

/**
 * Indexes for reading runs in the order of their lists, with any filter. Each index ends with the id, so that it alone
 * finds where a late page begins. A released migration never changes.
 */
export function runListsMigration(name: string): Migration {
  const table = `${name}_runs`;
  return {
    name: '003-run-lists',
    up: (schema) => [
      schema.dropIndex(`${table}_started`, table),
      schema.dropIndex(`${table}_definition`, table),
      schema.dropIndex(`${table}_status`, table),
      schema.index(table, 'started', ['tenant_id', 'started_at', 'id']),
      schema.index(table, 'definition', ['tenant_id', 'definition_id', 'started_at', 'id']),
      schema.index(table, 'status', ['tenant_id', 'status', 'started_at', 'id']),
      schema.index(table, 'definition_status', ['tenant_id', 'definition_id', 'status', 'started_at', 'id']),
    ],
  };
}

/** The same of definitions. A released migration never changes. */
export function definitionListsMigration(name: string): Migration {
  const table = `${name}_definitions`;
  return {
    name: '004-definition-lists',
    up: (schema) => [
      schema.dropIndex(`${table}_created`, table),
      schema.index(table, 'created', ['tenant_id', 'created_at', 'id']),
    ],
  };
}

/**
 * When runs began: distinguishes runs that wait for a worker from the others. Earlier runs have no such time. A
 * released migration never changes.
 */
export function runBegunMigration(name: string): Migration {
  return {
    name: '005-run-begun',
    up: (schema, types) => [schema.alterTable(`${name}_runs`).addColumn('begun_at', types.bigint)],
  };
}

/**
 * For whom runs were started, so that they are found with that user. Earlier runs belong to their identity alone. A
 * released migration never changes.
 */
export function runUserMigration(name: string): Migration {
  return {
    name: '006-run-user',
    up: (schema, types) => [
      schema.alterTable(`${name}_runs`).addColumn('user_id', types.string(LENGTHS.identity)),
    ],
  };
}

/**
 * Finds the events of one tenant, for their erasure and for the end of the tenant, without reading those of all others.
 * A released migration never changes.
 */
export function eventTenantsMigration(name: string): Migration {
  return {
    name: '007-event-tenants',
    up: (schema) => [schema.index(`${name}_events`, 'tenant', ['tenant_id', 'run_id', 'seq'])],
  };
}
