import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../data/database.ts';
import { MAX_HOST_PATTERN } from './host-pattern.ts';
import type { EgressAction } from './rule.ts';

/** Characters of a path prefix at most. */
export const MAX_PATH_PREFIX = 1024;

/** The egress rules of tenants. Written once; a rule is deleted, never changed. */
export const EgressRuleTable = defineEntity({
  name: 'EgressRule',
  tableName: 'egress_rules',
  indexes: [{ name: 'egress_rules_tenant', properties: ['tenantId', 'createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    hostPattern: column.string(MAX_HOST_PATTERN),
    pathPrefix: column.string(MAX_PATH_PREFIX),
    /** `allow` or `deny`. */
    action: column.string(8).$type<EgressAction>(),
    priority: column.integer(),
    createdAt: column.time(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('egress_rules')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (column) => column.notNull())
      .addColumn('host_pattern', types.string(261), (column) => column.notNull())
      .addColumn('path_prefix', types.string(1024), (column) => column.notNull())
      .addColumn('action', types.string(8), (column) => column.notNull())
      .addColumn('priority', types.integer, (column) => column.notNull())
      .addColumn('created_at', types.time, (column) => column.notNull()),
    schema.createIndex('egress_rules_tenant').on('egress_rules').columns(['tenant_id', 'created_at', 'id']),
  ],
};

/** What egress keeps in the database. The name of its owner can be no plugin's. */
export const egressRegistration: Registration = {
  owner: 'kernel.egress',
  entities: [EgressRuleTable],
  migrations: [initial],
};
