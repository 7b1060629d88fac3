import type { Migration } from 'agent-gateway';

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
    schema
      .createIndex('execution_receipts_once')
      .unique()
      .on('execution_receipts')
      .columns(['tenant_id', 'idempotency_key']),
    schema
      .createIndex('execution_receipts_created')
      .on('execution_receipts')
      .columns(['tenant_id', 'created_at', 'id']),
    schema
      .createIndex('execution_receipts_session')
      .on('execution_receipts')
      .columns(['tenant_id', 'session_id', 'created_at']),
    schema
      .createIndex('execution_receipts_tool')
      .on('execution_receipts')
      .columns(['tenant_id', 'tool_name', 'created_at']),
  ],
};
