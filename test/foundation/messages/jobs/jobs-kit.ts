import { randomUUID } from 'node:crypto';
import { defineEntity } from '@mikro-orm/core';
import type { ExecutionContext } from 'ava';
import pino from 'pino';
import Type from 'typebox';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import {
  column,
  type Database,
  type Migration,
  openDatabase,
  type Registration,
} from '../../../../foundation/data/database.ts';
import type { Events } from '../../../../foundation/messages/events/events.ts';
import { openEvents } from '../../../../foundation/messages/events/open-events.ts';
import { jobRegistration } from '../../../../foundation/messages/jobs/job-table.ts';
import { defineJob, type JobSettings } from '../../../../foundation/messages/jobs/jobs.ts';
import { type OpenJobsOptions, openJobs } from '../../../../foundation/messages/jobs/open-jobs.ts';
import { redactText } from '../../../../foundation/observability/redact-text.ts';
import { openRedis } from '../../../../foundation/redis/open-redis.ts';
import type { FreshDatabase } from '../../../support/databases.ts';
import { recordedMetrics } from '../../../support/metrics.ts';
import { until } from '../../../support/until.ts';

export const PATIENCE_MS = 20_000;
export const eventually = (condition: () => boolean | Promise<boolean>) => until(condition, PATIENCE_MS);

const Numbered = Type.Object({ n: Type.Integer() });

/** A job with quick attempts. */
export const charge = (settings: JobSettings = {}) =>
  defineJob('billing.charge', Numbered, { backoff: { first: 5, most: 20 }, ...settings });

/** Data that a job belongs to. */
export const Invoice = defineEntity({
  name: 'Invoice',
  tableName: 'invoices',
  properties: { id: column.id().primary(), tenantId: column.tenant(), n: column.integer() },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('invoices')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('n', types.integer, (is) => is.notNull()),
  ],
};

export const invoices: Registration = { owner: 'billing', entities: [Invoice], migrations: [initial] };

export const TENANT = randomUUID();

export type Jobs = ReturnType<typeof openJobs>;

/** One replica. */
export interface Replica {
  readonly jobs: Jobs;
  readonly database: Database;
  readonly events: Events;
  /** `<metric> <queue>`, each as often as it was counted. */
  readonly counts: string[];
  /** How long the oldest job of `billing.charge` waits, in seconds, each time that it was shown. */
  readonly ages: number[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  readonly lines: any[];
}

/** Opens a replica over the database; closed with the test. */
export async function openReplica(
  t: ExecutionContext,
  fresh: FreshDatabase,
  { redisUrl, ...options }: Partial<OpenJobsOptions> & { readonly redisUrl?: string } = {},
): Promise<Replica> {
  const lines: unknown[] = [];
  const counts: string[] = [];
  const ages: number[] = [];
  const log = pino(
    { level: 'debug', base: undefined },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  );
  const common = { clock: systemClock, ids: createIds(systemClock), log };
  const metrics = recordedMetrics((name, [queue], value) => {
    if (name === 'svc_jobs_oldest_seconds' && queue === 'billing.charge') ages.push(value);
    if (value !== 0) counts.push(`${name} ${queue}`);
  });
  const database = await openDatabase({ ...fresh.options, log });
  for (const registration of [jobRegistration, invoices]) await database.register(registration);
  const { url } = fresh.options;
  const redis =
    redisUrl === undefined ? undefined : await openRedis({ ...common, url: redisUrl, deployment: 'test' });
  const events = openEvents({
    ...common,
    metrics,
    redis,
    postgresUrl: fresh.family === 'postgres' ? url : undefined,
  });
  const jobs = openJobs({ ...common, metrics, events, database, withoutSecrets: redactText, ...options });
  t.teardown(async () => {
    await jobs.close();
    await events.close();
    redis?.close();
    await database.close();
  });
  return { jobs, database, events, counts, ages, lines };
}
