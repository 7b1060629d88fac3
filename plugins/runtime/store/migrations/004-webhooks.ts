import type { Migration } from 'agent-gateway';

/** Webhooks, their deliveries, and the log of attempts. A released migration never changes. */
export const webhooksMigration: Migration = {
  name: '004-webhooks',
  up: (schema, types) => [
    schema
      .createTable('runtime_webhooks')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('url', types.text, (is) => is.notNull())
      .addColumn('events', types.text, (is) => is.notNull())
      .addColumn('description', types.text, (is) => is.notNull())
      .addColumn('active', types.boolean, (is) => is.notNull())
      .addColumn('secret', types.text, (is) => is.notNull())
      .addColumn('previous_secret', types.text)
      .addColumn('previous_until', types.bigint)
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_webhooks_pkey', ['tenant_id', 'id']),
    schema
      .createTable('runtime_webhook_deliveries')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('webhook_id', types.id, (is) => is.notNull())
      .addColumn('event_id', types.string(64), (is) => is.notNull())
      .addColumn('event_type', types.string(64), (is) => is.notNull())
      .addColumn('user_id', types.string(256))
      .addColumn('attempt', types.integer, (is) => is.notNull())
      .addColumn('body', types.text, (is) => is.notNull())
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_webhook_deliveries_pkey', ['tenant_id', 'id']),
    schema
      .createIndex('runtime_webhook_deliveries_webhook')
      .on('runtime_webhook_deliveries')
      .columns(['tenant_id', 'webhook_id']),
    schema
      .createIndex('runtime_webhook_deliveries_created')
      .on('runtime_webhook_deliveries')
      .columns(['created_at']),
    schema
      .createTable('runtime_webhook_logs')
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('id', types.id, (is) => is.notNull())
      .addColumn('webhook_id', types.id, (is) => is.notNull())
      .addColumn('event_id', types.string(64), (is) => is.notNull())
      .addColumn('event_type', types.string(64), (is) => is.notNull())
      .addColumn('status_code', types.integer)
      .addColumn('attempt', types.integer, (is) => is.notNull())
      .addColumn('duration_ms', types.integer, (is) => is.notNull())
      .addColumn('error', types.text)
      .addColumn('delivered_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('runtime_webhook_logs_pkey', ['tenant_id', 'id']),
    schema
      .createIndex('runtime_webhook_logs_webhook')
      .on('runtime_webhook_logs')
      .columns(['tenant_id', 'webhook_id', 'id']),
    schema.createIndex('runtime_webhook_logs_delivered').on('runtime_webhook_logs').columns(['delivered_at']),
  ],
};
