import type { Migration } from 'agent-gateway';

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
    schema.createIndex('usage_records_tenant_day').on('usage_records').columns(['tenant_id', 'day']),
    schema
      .createIndex('usage_records_session')
      .on('usage_records')
      .columns(['tenant_id', 'session_id', 'created_at']),
    schema.createIndex('usage_records_day').on('usage_records').columns(['day', 'tenant_id']),
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
