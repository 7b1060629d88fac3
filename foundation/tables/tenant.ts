import { defineEntity } from '@mikro-orm/core';
import { defineErrors } from '../base/gateway-error.ts';
import { column } from '../data/columns.ts';

/** What the gateway adds to the prompts of chats: personality, profile, memories and skills, or nothing. */
export type ChatContext = 'full' | 'none';

/**
 * A tenant (core API, "Tenant"). Registered as `self`: a tenant may read its own record, the kernel alone writes it.
 */
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
    /** `none`: its chat completions go to the model without the gateway's own context. */
    chatContext: column.string(16).default('full').$type<ChatContext>(),
    createdAt: column.time(),
    updatedAt: column.time(),
    /** Since when the tenant is scheduled to be deleted. */
    deletedAt: column.time().strictNullable(),
    /** When the purge job may remove a deleted tenant's rows. */
    purgeAfter: column.time().strictNullable(),
    /** Since when it cannot be restored: from then on its rows and objects go. */
    purgeStartedAt: column.time().strictNullable(),
    /** When nothing was left of it but this record, which has lost its name, and audit records. */
    purgedAt: column.time().strictNullable(),
  },
});

/** What can go wrong with tenant records (decisions 1.1). */
export const TenantErrors = defineErrors({
  notFound: { code: 'tenant.not-found', kind: 'not-found', title: 'There is no such tenant' },
  isDefault: { code: 'tenant.default', kind: 'conflict', title: 'The default tenant cannot be deleted' },
  isDeleted: { code: 'tenant.deleted', kind: 'conflict', title: 'The tenant is scheduled for deletion' },
  isNotDeleted: {
    code: 'tenant.not-deleted',
    kind: 'conflict',
    title: 'The tenant is not scheduled for deletion',
  },
  isPurged: { code: 'tenant.purged', kind: 'gone', title: 'The data of the tenant has been removed' },
});
