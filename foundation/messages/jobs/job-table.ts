import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../../data/database.ts';

/** The `tenant_id` of jobs of the whole deployment. */
export const DEPLOYMENT = '-';

/** A job that is not done yet, or dead. Times are milliseconds of the database's clock. */
export const JobRow = defineEntity({
  name: 'KernelJob',
  tableName: 'kernel_jobs',
  indexes: [
    { name: 'kernel_jobs_claim', properties: ['queue', 'state', 'tenantId', 'dueAt', 'id'] },
    { name: 'kernel_jobs_due', properties: ['state', 'dueAt'] },
  ],
  uniques: [{ name: 'kernel_jobs_key', properties: ['tenantId', 'queue', 'uniqueKey'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    queue: column.string(100),
    /** See `JobState`. */
    state: column.string(10),
    payload: column.text(),
    /** Null for a job that has begun. */
    uniqueKey: column.string(128).strictNullable(),
    /** Attempts that have begun. */
    attempt: column.integer().unsigned(false),
    maxAttempts: column.integer().unsigned(false),
    createdAt: column.bigint(),
    /** Waiting: since when. Scheduled: until when. Running: the end of the lease. Dead: when it is forgotten. */
    dueAt: column.bigint(),
    /** Of the attempt under way. */
    ticket: column.string(36).strictNullable(),
    /** What the latest attempt failed of, without secrets. */
    error: column.string(1_000).strictNullable(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('kernel_jobs')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('queue', types.string(100), (is) => is.notNull())
      .addColumn('state', types.string(10), (is) => is.notNull())
      .addColumn('payload', types.text, (is) => is.notNull())
      .addColumn('unique_key', types.string(128))
      .addColumn('attempt', types.integer, (is) => is.notNull())
      .addColumn('max_attempts', types.integer, (is) => is.notNull())
      .addColumn('created_at', types.bigint, (is) => is.notNull())
      .addColumn('due_at', types.bigint, (is) => is.notNull())
      .addColumn('ticket', types.string(36))
      .addColumn('error', types.string(1_000)),
    schema.index('kernel_jobs', 'claim', ['queue', 'state', 'tenant_id', 'due_at', 'id']),
    schema.index('kernel_jobs', 'due', ['state', 'due_at']),
    schema.index('kernel_jobs', 'key', ['tenant_id', 'queue', 'unique_key']).unique(),
  ],
};

/** What the jobs keep in the database: rows of their tenants. */
export const jobRegistration: Registration = {
  owner: 'kernel.jobs',
  entities: [
    { entity: JobRow, impersonal: 'ids of work that is not done yet: a payload holds no personal data' },
  ],
  migrations: [initial],
};
