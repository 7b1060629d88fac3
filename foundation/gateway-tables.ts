import type { Database, Registration } from './data/database.ts';
import type { Migration } from './data/migration.ts';
import { egressRegistration } from './egress/rule.ts';
import { leaseRegistration } from './leases/lease-tables.ts';
import { subscriptionRegistration } from './messages/durable-events/subscription-table.ts';
import { jobRegistration } from './messages/jobs/job-table.ts';
import { replicaRegistration } from './replicas/replica-table.ts';
import { scheduleRegistration } from './schedules/schedule-table.ts';
import { ApiKey } from './tables/api-key.ts';
import { AuditLog } from './tables/audit-log.ts';
import { Tenant } from './tables/tenant.ts';

/** Tenants with the default tenant, API keys, audit logs. */
export const initial: Migration = {
  name: '001-initial',
  up: (schema, types, queries) => [
    schema
      .createTable('tenants')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('name', types.string(255), (column) => column.notNull())
      .addColumn('plan', types.string(32), (column) => column.notNull())
      .addColumn('rate_limit_rpm', types.integer, (column) => column.notNull())
      .addColumn('max_sessions', types.integer, (column) => column.notNull())
      .addColumn('created_at', types.time, (column) => column.notNull())
      .addColumn('updated_at', types.time, (column) => column.notNull())
      .addColumn('deleted_at', types.time)
      .addColumn('purge_after', types.time),
    schema.index('tenants', 'created', ['created_at', 'id']),
    queries.insertInto('tenants').values({
      id: DEFAULT_TENANT,
      name: 'Default Tenant',
      plan: 'pro',
      rate_limit_rpm: 120,
      max_sessions: 10,
      created_at: types.value.now,
      updated_at: types.value.now,
    }),

    schema
      .createTable('api_keys')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (column) => column.notNull())
      .addColumn('name', types.string(255), (column) => column.notNull())
      .addColumn('prefix', types.string(8), (column) => column.notNull())
      .addColumn('hash', types.string(64), (column) => column.notNull())
      .addColumn('roles', types.json, (column) => column.notNull())
      .addColumn('scopes', types.json, (column) => column.notNull())
      .addColumn('created_at', types.time, (column) => column.notNull())
      .addColumn('expires_at', types.time)
      .addColumn('revoked_at', types.time)
      .addColumn('last_used_at', types.time)
      .addColumn('created_by', types.string(255)),
    schema.index('api_keys', 'tenant', ['tenant_id', 'created_at', 'id']),
    schema.index('api_keys', 'hash', ['hash']).unique(),

    schema
      .createTable('audit_logs')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (column) => column.notNull())
      .addColumn('user_id', types.string(255), (column) => column.notNull())
      .addColumn('action', types.string(2100), (column) => column.notNull())
      .addColumn('action_key', types.string(190), (column) => column.notNull())
      .addColumn('detail', types.json, (column) => column.notNull())
      .addColumn('request_id', types.string(255), (column) => column.notNull())
      .addColumn('status_code', types.integer, (column) => column.notNull())
      .addColumn('latency_ms', types.integer, (column) => column.notNull())
      .addColumn('created_at', types.time, (column) => column.notNull())
      .addColumn('session_id', types.string(128))
      .addColumn('source_ip', types.string(64))
      .addColumn('user_agent', types.string(512))
      .addColumn('error_code', types.string(128))
      .addColumn('auth_method', types.string(32)),
    schema.index('audit_logs', 'tenant', ['tenant_id', 'created_at', 'id']),
    schema.index('audit_logs', 'action', ['tenant_id', 'action_key', 'created_at']),
    schema.index('audit_logs', 'created', ['created_at', 'id']),
  ],
};

/** Tenants may decline the context that the gateway adds to chat completions. */
const chatContext: Migration = {
  name: '002-chat-context',
  up: (schema, types) => [
    schema
      .alterTable('tenants')
      .addColumn('chat_context', types.string(16), (column) => column.notNull().defaultTo('full')),
  ],
};

/** How far the purge of a deleted tenant has come. */
const purges: Migration = {
  name: '003-purges',
  up: (schema, types) => [
    schema.alterTable('tenants').addColumn('purge_started_at', types.time),
    schema.alterTable('tenants').addColumn('purged_at', types.time),
  ],
};

/** Records of an action are read in the order of their lists, those of all tenants too. */
const auditActions: Migration = {
  name: '004-audit-actions',
  up: (schema) => [
    schema.dropIndex('audit_logs_action', 'audit_logs'),
    schema.index('audit_logs', 'action', ['tenant_id', 'action_key', 'created_at', 'id']),
    schema.index('audit_logs', 'action_of_all', ['action_key', 'created_at', 'id']),
  ],
};

/** Makes the tables of the kernel and its services, or brings them to their newest form. */
export function registerKernelTables(database: Database): Promise<void> {
  return registerTables(database, kernelRegistrations());
}

/** Makes the tables of several owners, or brings them to their newest form, one owner after the other. */
export async function registerTables(
  database: Database,
  registrations: readonly Registration[],
): Promise<void> {
  database.announce(registrations.map(({ owner: name, entities }) => ({ name, entities })));
  for (const registration of registrations) await database.register(registration);
}

/** What the kernel and its services keep in the database, in the order in which it is registered. */
export function kernelRegistrations(): readonly Registration[] {
  const messages = [jobRegistration, subscriptionRegistration];
  const services = [egressRegistration, leaseRegistration, ...messages, scheduleRegistration];
  return [kernelRegistration, ...services, replicaRegistration];
}

/** What the kernel itself keeps in the database. Registered first, before any plugin. */
export const kernelRegistration: Registration = {
  owner: 'kernel',
  entities: [{ entity: Tenant, tenancy: 'self' }, ApiKey, AuditLog],
  migrations: [initial, chatContext, purges, auditActions],
};

/** Written out: a migration never changes with the code around it. */
const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
