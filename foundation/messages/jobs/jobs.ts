import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Static, TSchema } from 'typebox';
import type { BackoffBounds } from '../../base/backoff.ts';
import { defineErrors } from '../../base/gateway-error.ts';
import { refuseMisspelled } from '../../base/nearest-name.ts';
import type { RowWrite, TenantEntityManager } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';

/** How the jobs of a queue are worked on; everything has a default. */
export interface JobSettings {
  /** Attempts before a job is dead, 1 to 100. An attempt whose process dies counts. Default 10. */
  readonly attempts?: number;
  /** Milliseconds between attempts: doubled from `first` to `most`, less a random half. Default 1 s to 1 h. */
  readonly backoff?: BackoffBounds;
  /**
   * Milliseconds after which the signal of an attempt aborts, up to 24 h. Default 60 000. A handler that has not ended
   * 5 s later is left alone and the attempt counts as failed.
   */
  readonly timeout?: number;
}

/** A typed name for durable work. Compare by `id`; the type parameter exists at compile time only. */
export interface JobRef<T> {
  readonly kind: 'job';
  /** `<plugin>.<work>`: the name of its queue, unique in the deployment. */
  readonly id: string;
  /** Both sides check every payload against it: another version of the gateway may have published it. */
  readonly schema: TSchema;
  readonly settings: Required<JobSettings>;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

/** The names of `JobSettings`. */
export const JOB_SETTINGS = ['attempts', 'backoff', 'timeout'] as const;

const JOB_ID = /^[a-z0-9][a-z0-9.-]{0,99}$/;
const DAY_MS = 24 * 3_600_000;

/**
 * Declares durable work: what is published is done at least once, whatever process dies, or is kept as dead for the
 * operator. A handler may run again for work that it has done (its process died before that was noted), so it
 * recognizes what is done already.
 *
 * The payload is stored, and operators read it: it names ids, and holds no secret and no personal data. A schema
 * changes so that old and new replicas understand each other; a payload that does not fit is a failed attempt.
 *
 * @param id lower-case letters, digits, `.` and `-`, at most 100 characters
 * @throws TypeError for another id, for settings out of their bounds, and for a misspelled one
 *
 * @example
 * export const Charge = defineJob('billing.charge', Type.Object({ invoice_id: Type.String() }), { attempts: 5 });
 */
export function defineJob<const S extends TSchema>(
  id: string,
  schema: S,
  input: JobSettings = {},
): JobRef<Static<S>> {
  const { attempts = 10, backoff = { first: 1_000, most: 3_600_000 }, timeout = 60_000 } = input;
  if (!JOB_ID.test(id)) {
    throw new TypeError(
      `The id of a job is lower-case letters, digits, "." and "-", not ${JSON.stringify(id)}`,
    );
  }
  refuseMisspelled(id, input, JOB_SETTINGS);
  inBounds(id, 'attempts', attempts, 100);
  inBounds(id, 'timeout', timeout, DAY_MS);
  inBounds(id, 'backoff.first', backoff.first, DAY_MS);
  inBounds(id, 'backoff.most', backoff.most, DAY_MS);
  return { kind: 'job', id, schema, settings: { attempts, backoff, timeout } };
}

function inBounds(id: string, setting: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new TypeError(`${id}: ${setting} must be a whole number from 1 to ${most}`);
}

/** How a job is published; everything has a default. */
export interface PublishJobOptions {
  /** Milliseconds before it is begun, a whole number up to 365 days. Default 0. */
  readonly delay?: number;
  /** When it is begun, at the earliest; instead of `delay`. */
  readonly runAt?: Date;
  /**
   * At most one job of a key waits in a queue of a tenant: a second one replaces payload and time of the first. Once a
   * job has begun it has no key any more, so what is published meanwhile is done after it. Printable characters, 128 at
   * most. Default: none.
   */
  readonly key?: string;
}

/**
 * Whose job it is, and in which transaction it is published: the entity manager of a tenant, inside or outside of a
 * transaction; or, for work of the whole deployment, that of `database.transaction`, or `database.system()`.
 */
export type JobOwner = TenantEntityManager | SqlEntityManager;

/** Durable work. */
export interface Jobs {
  /**
   * Stores a job. Inside a transaction it is part of it: committed or rolled back with the data.
   *
   * @returns the id of the job; with `key` perhaps of one that was replaced by an earlier one
   * @throws job.payload-invalid, job.payload-too-large, job.option-invalid
   */
  publish<T>(
    owner: JobOwner,
    job: JobRef<T>,
    payload: NoInfer<T>,
    options?: PublishJobOptions,
  ): Promise<string>;
  /**
   * The same as a write for `entities.writeTogether`, with the tenant of these.
   *
   * @example
   * await entities.writeTogether([writes.insert(Invoice, [invoice]), jobs.write(Charge, { invoice_id: invoice.id })]);
   */
  write<T>(job: JobRef<T>, payload: NoInfer<T>, options?: Omit<PublishJobOptions, 'key'>): RowWrite;
}

/** Does one job. Resolving says that it is done. */
export type JobHandler<T> = (payload: T, context: JobContext) => Promise<void>;

/** What a handler gets in addition to the payload. */
export interface JobContext {
  readonly id: string;
  /** The tenant that published it; `undefined` for work of the deployment. */
  readonly tenantId: string | undefined;
  /** An entity manager of that tenant. Throws for work of the deployment. */
  entities(): TenantEntityManager;
  /** 1 for the first. */
  readonly attempt: number;
  /** After a failure of this attempt the job is dead. */
  readonly isLast: boolean;
  /** Aborts at the deadline of the attempt, at the end of a drain, and when another replica has the job. */
  readonly signal: AbortSignal;
  /** Has queue, job, attempt and tenant in each line. */
  readonly log: Logger;
}

/** How jobs are taken up; everything has a default. */
export interface WorkerOptions {
  /** Jobs that this process works on at one time, 1 to 1000. Default 10. */
  readonly concurrency?: number;
}

/** One worker of a queue. */
export interface JobWorker {
  /**
   * No new jobs from now on; resolves when those under way are done, or aborts them after `drain` milliseconds and
   * gives them a second more. Those go back without the attempt. Never rejects.
   */
  stop(drain: number): Promise<void>;
}

/** What a host needs in addition to publishing. */
export interface JobsHost extends Jobs {
  /** @throws job.option-invalid, job.closed */
  work<T>(job: JobRef<T>, handle: JobHandler<T>, options?: WorkerOptions): JobWorker;
  /** Stops all workers, with 5 s for what is under way. Ends within 10 s. */
  close(): Promise<void>;
}

/**
 * - `waiting`: for a free place
 * - `scheduled`: for its time, or for the next attempt
 * - `running`: under way, with a lease
 * - `dead`: its last attempt failed; kept for 14 days
 */
export type JobState = 'waiting' | 'scheduled' | 'running' | 'dead';

/** What can go wrong with jobs. */
export const JobErrors = defineErrors({
  payloadInvalid: {
    code: 'job.payload-invalid',
    kind: 'internal',
    title: 'The payload of a job does not fit its schema',
  },
  payloadTooLarge: {
    code: 'job.payload-too-large',
    kind: 'internal',
    title: 'The payload of a job is too large',
  },
  optionInvalid: {
    code: 'job.option-invalid',
    kind: 'internal',
    title: 'An option of a job is out of its bounds',
  },
  closed: { code: 'job.closed', kind: 'unavailable', title: 'The jobs are closed' },
  notFound: { code: 'job.not-found', kind: 'not-found', title: 'There is no such job' },
  notDead: { code: 'job.not-dead', kind: 'conflict', title: 'The job is not dead' },
});
