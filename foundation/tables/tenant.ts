import { defineEntity } from '@mikro-orm/core';
import { column } from '../data/columns.ts';

/** A tenant (core API, "Tenant"). Registered as `self`: a tenant may read its own record, the kernel alone writes it. */
export const Tenant = defineEntity({
  name: 'Tenant',
  tableName: 'tenants',
  indexes: [{ name: 'tenants_created', properties: ['createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    name: column.string(255),
    /** `free`, `pro` or `enterprise`. */
    plan: column.string(32),
    /** Requests per minute. */
    rateLimitRpm: column.integer(),
    /** Sessions with a turn in flight at one time. */
    maxSessions: column.integer(),
    createdAt: column.time(),
    updatedAt: column.time(),
    /** Since when the tenant is scheduled to be deleted. */
    deletedAt: column.time().strictNullable(),
    /** When the purge job may remove a deleted tenant's rows. */
    purgeAfter: column.time().strictNullable(),
  },
});
