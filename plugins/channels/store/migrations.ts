import type { Migration } from 'agent-gateway';

/** Apps, bindings, and what logins leave behind. A released migration never changes. */
const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('channel_apps')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('platform', types.string(16), (is) => is.notNull())
      .addColumn('app_key', types.string(128), (is) => is.notNull())
      .addColumn('app_secret_ref', types.text)
      .addColumn('oauth_secret_ref', types.text)
      .addColumn('webhook_secret_ref', types.text)
      .addColumn('tenant_refs', types.string(32), (is) => is.notNull())
      .addColumn('enabled', types.boolean, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.index('channel_apps', 'tenant', ['tenant_id', 'id']),
    schema.index('channel_apps', 'key', ['platform', 'app_key']).unique(),

    schema
      .createTable('channel_bindings')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('channel_app_id', types.id, (is) => is.notNull())
      .addColumn('platform', types.string(16), (is) => is.notNull())
      .addColumn('provider_user_hash', types.string(64), (is) => is.notNull())
      .addColumn('user_id', types.id, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('last_login_at', types.time, (is) => is.notNull())
      .addColumn('revoked_at', types.time),
    schema.index('channel_bindings', 'tenant', ['tenant_id', 'id']),
    schema.index('channel_bindings', 'user', ['tenant_id', 'user_id']),
    schema.index('channel_bindings', 'hash', ['tenant_id', 'channel_app_id', 'provider_user_hash']).unique(),

    schema
      .createTable('channel_links')
      .addColumn('id', types.string(64), (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('channel_app_id', types.id, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('expires_at', types.time, (is) => is.notNull()),
    schema.index('channel_links', 'app', ['tenant_id', 'channel_app_id']),
    schema.index('channel_links', 'expiry', ['expires_at']),

    schema
      .createTable('channel_states')
      .addColumn('id', types.string(64), (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('channel_app_id', types.id, (is) => is.notNull())
      .addColumn('platform', types.string(16), (is) => is.notNull())
      .addColumn('browser_hash', types.string(64), (is) => is.notNull())
      .addColumn('return_to', types.text, (is) => is.notNull())
      .addColumn('link_created_at', types.time, (is) => is.notNull())
      .addColumn('expires_at', types.time, (is) => is.notNull()),
    schema.index('channel_states', 'app', ['tenant_id', 'channel_app_id']),
    schema.index('channel_states', 'expiry', ['expires_at']),

    schema
      .createTable('channel_sessions')
      .addColumn('id', types.string(64), (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('channel_app_id', types.id, (is) => is.notNull())
      .addColumn('user_id', types.id, (is) => is.notNull())
      .addColumn('csrf_hash', types.string(64), (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('expires_at', types.time, (is) => is.notNull()),
    schema.index('channel_sessions', 'user', ['tenant_id', 'user_id']),
    schema.index('channel_sessions', 'app', ['tenant_id', 'channel_app_id']),
    schema.index('channel_sessions', 'expiry', ['expires_at']),
  ],
};

/** The migrations of channels, in order. */
export const migrations: readonly Migration[] = [initial];
