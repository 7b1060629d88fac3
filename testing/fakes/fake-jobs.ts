import { payloadProblem } from '../../foundation/base/json-schema.ts';
import { writes } from '../../foundation/data/database.ts';
import { TenantEntityManager } from '../../foundation/data/tenant-entity-manager.ts';
import { JobRow } from '../../foundation/messages/jobs/job-table.ts';
import {
  JobErrors,
  type JobHandler,
  type JobRef,
  type Jobs,
  type PublishJobOptions,
} from '../../foundation/messages/jobs/jobs.ts';
import { createLogger } from '../../foundation/observability/logger.ts';

/** A job that a test's subject has published. */
export interface PublishedJob {
  readonly id: string;
  /** The id of its `JobRef`. */
  readonly queue: string;
  readonly payload: unknown;
  readonly options: PublishJobOptions;
  /** `undefined` for work of the deployment, and for `write`, which has the tenant of its entities. */
  readonly tenantId: string | undefined;
}

/** Jobs in memory: what is published is noted, and done when the test says so. Transactions are not followed. */
export interface FakeJobs extends Jobs {
  /** What was published and not run yet, in order. */
  readonly published: readonly PublishedJob[];
  /** Does the published jobs of one kind, one after the other. What the handler throws is thrown. */
  run<T>(job: JobRef<T>, handle: JobHandler<T>): Promise<void>;
}

/**
 * Jobs for tests: they record what was published, and run it when the test calls `run`.
 *
 * @example
 * const jobs = fakeJobs();
 * await placeOrder(jobs, order);
 * await jobs.run(Charge, charge);
 */
export function fakeJobs(): FakeJobs {
  let published: PublishedJob[] = [];
  let count = 0;
  const { logger: log } = createLogger({ level: 'silent' });

  function note(
    job: JobRef<unknown>,
    payload: unknown,
    options: PublishJobOptions,
    tenantId?: string,
  ): string {
    const problem = payloadProblem(job.schema, payload);
    if (problem !== undefined) throw JobErrors.payloadInvalid(`${job.id}: ${problem}`);
    count += 1;
    const id = `job-${count}`;
    published.push({ id, queue: job.id, payload: structuredClone(payload), options, tenantId });
    return id;
  }

  return {
    get published() {
      return published;
    },
    async publish(owner, job, payload, options = {}) {
      return note(job, payload, options, owner instanceof TenantEntityManager ? owner.tenantId : undefined);
    },
    write(job, payload, options = {}) {
      note(job, payload, options);
      return writes.insert(JobRow, []);
    },
    async run(job, handle) {
      const due = published.filter(({ queue }) => queue === job.id);
      published = published.filter(({ queue }) => queue !== job.id);
      for (const { id, payload, tenantId } of due) {
        await handle(payload as never, {
          id,
          tenantId,
          log,
          attempt: 1,
          isLast: false,
          signal: new AbortController().signal,
          entities() {
            throw new TypeError('A fake job has no database');
          },
        });
      }
    },
  };
}
