import type { Migration } from 'agent-gateway';

/** The sessions and their messages. A released migration never changes. */
export const sessions: Migration = {
  name: '001-sessions',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('sessions')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.string(128), (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('model', types.string(255), (is) => is.notNull())
      .addColumn('turns', types.integer, (is) => is.notNull())
      .addColumn('message_count', types.integer, (is) => is.notNull())
      .addColumn('message_bytes', types.bigint, (is) => is.notNull())
      .addColumn('input_tokens', types.bigint, (is) => is.notNull())
      .addColumn('output_tokens', types.bigint, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('sessions_pkey', ['tenant_id', 'id']),
    schema.index('sessions', 'updated', ['tenant_id', 'updated_at', 'id']),
    schema.index('sessions', 'owner', ['tenant_id', 'identity_id', 'user_id', 'updated_at']),
    schema
      .createTable('session_messages')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('session_id', types.string(128), (is) => is.notNull())
      .addColumn('seq', types.integer, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('turn', types.integer, (is) => is.notNull())
      .addColumn('role', types.string(32), (is) => is.notNull())
      .addColumn('message', types.text, (is) => is.notNull())
      .addColumn('token_count', types.integer, (is) => is.notNull())
      .addColumn('bytes', types.integer, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('session_messages_pkey', ['tenant_id', 'session_id', 'seq']),
  ],
};

/** The receipts of tool executions. */
export const receipts: Migration = {
  name: '002-receipts',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('execution_receipts')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('session_id', types.string(128), (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('tool_name', types.string(128), (is) => is.notNull())
      .addColumn('input', types.text, (is) => is.notNull())
      .addColumn('output', types.text, (is) => is.notNull())
      .addColumn('status', types.string(16), (is) => is.notNull())
      .addColumn('duration_ms', types.integer, (is) => is.notNull())
      .addColumn('idempotency_id', types.text)
      .addColumn('idempotency_key', types.string(64))
      .addColumn('trace_id', types.string(64))
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('execution_receipts', 'once', ['tenant_id', 'idempotency_key']).unique(),
    schema.index('execution_receipts', 'created', ['tenant_id', 'created_at', 'id']),
    schema.index('execution_receipts', 'session', ['tenant_id', 'session_id', 'created_at']),
    schema.index('execution_receipts', 'tool', ['tenant_id', 'tool_name', 'created_at']),
  ],
};

/** Usage records, and the prices that they are made with. */
export const usage: Migration = {
  name: '003-usage',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('usage_records')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('session_id', types.string(128))
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('identity_id', types.string(255), (is) => is.notNull())
      .addColumn('source', types.string(16), (is) => is.notNull())
      .addColumn('model', types.string(255), (is) => is.notNull())
      .addColumn('provider', types.string(64), (is) => is.notNull())
      .addColumn('provider_model', types.string(255), (is) => is.notNull())
      .addColumn('input_tokens', types.integer, (is) => is.notNull())
      .addColumn('output_tokens', types.integer, (is) => is.notNull())
      .addColumn('cache_read_tokens', types.integer, (is) => is.notNull())
      .addColumn('cache_write_tokens', types.integer, (is) => is.notNull())
      .addColumn('estimated', types.integer, (is) => is.notNull())
      .addColumn('cost_micros', types.bigint, (is) => is.notNull())
      .addColumn('cost_picos', types.integer, (is) => is.notNull())
      .addColumn('day', types.string(10), (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('usage_records', 'tenant_day', ['tenant_id', 'day']),
    schema.index('usage_records', 'session', ['tenant_id', 'session_id', 'created_at']),
    schema.index('usage_records', 'day', ['day', 'tenant_id']),
    schema
      .createTable('pricing_rules')
      .addColumn('model', types.string(200), (is) => is.notNull().primaryKey())
      .addColumn('input_nanos', types.bigint, (is) => is.notNull())
      .addColumn('output_nanos', types.bigint, (is) => is.notNull())
      .addColumn('cache_read_nanos', types.bigint)
      .addColumn('cache_write_nanos', types.bigint)
      .addColumn('updated_at', types.time, (is) => is.notNull()),
  ],
};

/** Memories and profiles of users. */
export const memoriesMigration: Migration = {
  name: '005-memories',
  formerly: 'agent-engine',
  up: (schema, types) => [
    schema
      .createTable('memories')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('key', types.string(128), (is) => is.notNull())
      .addColumn('value', types.text, (is) => is.notNull())
      .addColumn('metadata', types.text, (is) => is.notNull())
      .addColumn('embedding', types.blob)
      .addColumn('embedding_id', types.string(255))
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.index('memories', 'key', ['tenant_id', 'user_id', 'key']).unique(),
    schema
      .createTable('profiles')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('user_id', types.string(255), (is) => is.notNull())
      .addColumn('text', types.text, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.index('profiles', 'user', ['tenant_id', 'user_id']).unique(),
  ],
};

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

/** When tools were run, and for which request. */
export const receiptSpans: Migration = {
  name: '007-receipt-spans',
  up: (schema, types) => [
    schema.alterTable('execution_receipts').addColumn('request_id', types.string(255)),
    schema.alterTable('execution_receipts').addColumn('started_at', types.time),
    schema.index('execution_receipts', 'request', ['tenant_id', 'request_id']),
  ],
};

/** When models were called, and for which request. */
export const usageSpans: Migration = {
  name: '008-usage-spans',
  up: (schema, types) => [
    schema.alterTable('usage_records').addColumn('request_id', types.string(255)),
    schema.alterTable('usage_records').addColumn('trace_id', types.string(64)),
    schema.alterTable('usage_records').addColumn('started_at', types.time),
    schema.alterTable('usage_records').addColumn('duration_ms', types.integer),
    schema.alterTable('usage_records').addColumn('status', types.string(16)),
    schema.index('usage_records', 'request', ['tenant_id', 'request_id']),
  ],
};

/** Sessions of an identity, and of a user, are read in the order of their lists. */
export const sessionIndexes: Migration = {
  name: '009-session-indexes',
  up: (schema) => [
    schema.index('sessions', 'identity', ['tenant_id', 'identity_id', 'updated_at', 'id']),
    schema.index('sessions', 'user', ['tenant_id', 'user_id', 'updated_at', 'id']),
  ],
};

/**
 * Indexes for reading receipts in the order of their lists, with any filter. Each index ends with the id: SQLite, which
 * has no statistics here, otherwise chooses the index that gives the whole order and scans all receipts of the tenant.
 */
export const receiptIndexes: Migration = {
  name: '010-receipt-indexes',
  up: (schema) => [
    schema.dropIndex('execution_receipts_session', 'execution_receipts'),
    schema.dropIndex('execution_receipts_request', 'execution_receipts'),
    schema.dropIndex('execution_receipts_tool', 'execution_receipts'),
    ...Object.entries({
      session: ['session_id'],
      request: ['request_id'],
      tool: ['tool_name'],
      status: ['status'],
      tool_status: ['tool_name', 'status'],
    }).map(([name, columns]) =>
      schema.index('execution_receipts', name, ['tenant_id', ...columns, 'created_at', 'id']),
    ),
  ],
};

/** Usage by day, added up once, so that reports do not read records. */
export const usageDays: Migration = {
  name: '011-usage-days',
  up: (schema, types) => [
    schema
      .createTable('usage_days')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('day', types.string(10), (is) => is.notNull())
      .addColumn('input_tokens', types.bigint, (is) => is.notNull())
      .addColumn('output_tokens', types.bigint, (is) => is.notNull())
      .addColumn('cache_read_tokens', types.bigint, (is) => is.notNull())
      .addColumn('cache_write_tokens', types.bigint, (is) => is.notNull())
      .addColumn('estimated', types.bigint, (is) => is.notNull())
      .addColumn('cost_micros', types.bigint, (is) => is.notNull())
      .addColumn('cost_picos', types.bigint, (is) => is.notNull())
      .addColumn('requests', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('usage_days_pkey', ['tenant_id', 'day']),
    schema.index('usage_days', 'day', ['day', 'tenant_id']),
    schema
      .createTable('usage_day_sessions')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('day', types.string(10), (is) => is.notNull())
      .addColumn('last_day', types.string(10), (is) => is.notNull())
      .addColumn('sessions', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('usage_day_sessions_pkey', ['tenant_id', 'day', 'last_day']),
    schema
      .createTable('usage_rollup')
      .addColumn('id', types.string(16), (is) => is.notNull().primaryKey())
      .addColumn('through_day', types.string(10), (is) => is.notNull()),
    schema
      .createTable('usage_resets')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('from_day', types.string(10), (is) => is.notNull()),
    schema.index('usage_resets', 'tenant', ['tenant_id', 'from_day']),
  ],
};

/** How long tenants keep their records, and how many they have. */
export const retention: Migration = {
  name: '012-retention',
  up: (schema, types) => [
    schema
      .createTable('retention_rules')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('kind', types.string(64), (is) => is.notNull())
      .addColumn('keep_ms', types.bigint)
      .addColumn('deletes_from', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('retention_rules_pkey', ['tenant_id', 'kind']),
    schema
      .createTable('retention_sizes')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('kind', types.string(64), (is) => is.notNull())
      .addColumn('records', types.bigint, (is) => is.notNull())
      .addColumn('counted_at', types.time, (is) => is.notNull())
      .addPrimaryKeyConstraint('retention_sizes_pkey', ['tenant_id', 'kind']),
    schema.index('retention_sizes', 'largest', ['kind', 'records']),
  ],
};

/** All of them, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  sessions,
  receipts,
  usage,
  memoriesMigration,
  skillsMigration,
  receiptSpans,
  usageSpans,
  sessionIndexes,
  receiptIndexes,
  usageDays,
  retention,
];
