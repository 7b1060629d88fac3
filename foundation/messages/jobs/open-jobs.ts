import { AsyncLocalStorage } from 'node:async_hooks';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Clock } from '../../base/clock.ts';
import { endsWithin } from '../../base/deadline.ts';
import type { Ids } from '../../base/ids.ts';
import { payloadProblem } from '../../base/json-schema.ts';
import { afterCommit } from '../../data/after-commit.ts';
import { upsert } from '../../data/built-statements.ts';
import { type Database, type RowWrite, writes } from '../../data/database.ts';
import { TenantEntityManager } from '../../data/tenant-entity-manager.ts';
import type { Logger } from '../../observability/logger.ts';
import type { PluginMetrics } from '../../observability/plugin-metrics.ts';
import type { Events } from '../events/events.ts';
import { createWakeUps, wakeUpEvent } from '../wake-ups.ts';
import { createJobLeases } from './job-leases.ts';
import { createJobMetrics } from './job-metrics.ts';
import { createJobStore, type JobRecord, type JobStore, type Swept } from './job-store.ts';
import { DEPLOYMENT, JobRow } from './job-table.ts';
import { checkWorkerOptions, startJobWorker, type WakeableWorker } from './job-worker.ts';
import { JobErrors, type JobRef, type JobsHost, type PublishJobOptions } from './jobs.ts';

export interface OpenJobsOptions {
  /** Has the table of `jobRegistration`. */
  readonly database: Database;
  /** They wake workers, here and in other replicas. */
  readonly events: Pick<Events, 'emit' | 'on' | 'onMissed' | 'reach'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: PluginMetrics;
  /** For what operators see of a failure. */
  readonly withoutSecrets: (text: string) => string;
  /** Other times than the usual ones, in milliseconds; for tests. */
  readonly times?: Partial<JobTimes>;
}

interface JobTimes {
  /**
   * After a process has died its jobs begin again when so much time has passed since its last sign of life; default
   * 30 000.
   */
  readonly lease: number;
  /**
   * How often the sweep looks for what is due and for what no wake-up reported; default 5 000, and 1 000 where replicas
   * may be that no events reach (MySQL without Redis).
   */
  readonly sweep: number;
  readonly depths: number;
  readonly keepDead: number;
}

/** What administration does with jobs, over all tenants. */
export type JobAdministration = Pick<JobStore, 'list' | 'find'> & {
  /** Has a dead job begin again. @throws job.not-found, job.not-dead */
  retry(id: string): Promise<JobRecord>;
  /** Forgets a dead job. @throws job.not-found, job.not-dead */
  delete(id: string): Promise<void>;
};

export type { JobRecord };

const JobsWaiting = wakeUpEvent('kernel.jobs-waiting');

/** Bytes of a payload as JSON in UTF-8. */
const MAX_PAYLOAD_BYTES = 64 * 1024;
const MAX_DELAY_MS = 365 * 24 * 3_600_000;
/** Characters that need no quoting anywhere. */
const KEY = /^[\x20-\x7e]{1,128}$/;
const LEASE_MS = 30_000;
const SWEEP_MS = 5_000;
const SWEEP_UNHEARD_MS = 1_000;
const DEPTHS_MS = 15_000;
const CLOSE_DRAIN_MS = 5_000;
const CLOSE_SWEEP_MS = 2_000;

/**
 * Opens the durable work of this process: one table of the gateway's database, workers that claim from it, and a sweep.
 */
export function openJobs(
  options: OpenJobsOptions,
): JobsHost & { readonly administration: JobAdministration } {
  const { database, events, clock, ids, log, times = {} } = options;
  const inOwnContext = AsyncLocalStorage.snapshot();
  const metrics = createJobMetrics(options.metrics, clock, log);
  const store = createJobStore(database, clock, times.keepDead);
  const wakeUps = createWakeUps(events, JobsWaiting);
  /** The workers of this process, with their queues. */
  const workers = new Map<WakeableWorker, string>();
  const lease = times.lease ?? LEASE_MS;
  const isUnheard = events.reach === 'process' && database.family !== 'sqlite';
  const sweeper = createSweeper({
    store,
    queues: () => new Set(workers.values()),
    metrics,
    clock,
    lease,
    every: times.sweep ?? (isUnheard ? SWEEP_UNHEARD_MS : SWEEP_MS),
    depthsEvery: times.depths ?? DEPTHS_MS,
    onSwept({ waiting, begun, died }) {
      for (const { id, tenantId, queue, attempt, error } of died) {
        metrics.dead.inc({ queue });
        const tenant = tenantId === DEPLOYMENT ? undefined : tenantId;
        log.error({ queue, job_id: id, attempt, tenant_id: tenant }, `a job is dead: ${error}`);
      }
      for (const [worker, queue] of workers) if (waiting.has(queue)) worker.wake();
      for (const queue of begun) wakeUps.send(queue);
    },
  });
  const leases = createJobLeases({ store, clock, metrics, length: lease });
  let closing: Promise<void> | undefined;

  function rowOf<T>(job: JobRef<T>, payload: T, { delay = 0, runAt, key }: PublishJobOptions) {
    if (key !== undefined && !KEY.test(key)) {
      throw JobErrors.optionInvalid(`key: a key in ${job.id} is 1 to 128 printable characters`);
    }
    if (!Number.isInteger(delay) || delay < 0 || delay > MAX_DELAY_MS) {
      throw JobErrors.optionInvalid(`delay: must be whole milliseconds from 0 to ${MAX_DELAY_MS}`);
    }
    const at = database.clock.now();
    const due = runAt === undefined ? at + delay : runAt.getTime();
    if (Number.isNaN(due) || due > at + MAX_DELAY_MS) {
      throw JobErrors.optionInvalid('runAt: must be a valid time within a year');
    }
    const problem = payloadProblem(job.schema, payload);
    if (problem !== undefined) throw JobErrors.payloadInvalid(`${job.id}: ${problem}`);
    const text = JSON.stringify(payload);
    if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) {
      throw JobErrors.payloadTooLarge(
        `${job.id}: the payload is above ${MAX_PAYLOAD_BYTES} bytes; store it and send an id`,
      );
    }
    return {
      id: ids.uuid(),
      queue: job.id,
      state: due > at ? 'scheduled' : 'waiting',
      payload: text,
      uniqueKey: key ?? null,
      attempt: 0,
      maxAttempts: job.settings.attempts,
      createdAt: at,
      dueAt: Math.max(due, at),
      ticket: null,
      error: null,
    };
  }

  type NewRow = ReturnType<typeof rowOf>;

  const published = ({ queue, state, dueAt }: NewRow) =>
    inOwnContext(() => {
      metrics.published.inc({ queue });
      if (state === 'waiting') wakeUps.send(queue);
      else sweeper.dueIn(dueAt - database.clock.now());
    });

  const REPLACED = ['payload', 'state', 'dueAt', 'maxAttempts'] as const;

  async function storeRow(owner: TenantEntityManager | SqlEntityManager, row: NewRow): Promise<void> {
    const conflict = { conflict: ['queue', 'uniqueKey'] as const, update: REPLACED };
    if (owner instanceof TenantEntityManager) {
      if (row.uniqueKey === null) await owner.insert(JobRow, row);
      else await owner.upsert(JobRow, row, conflict);
      return;
    }
    const ofDeployment = { ...row, tenantId: DEPLOYMENT };
    if (row.uniqueKey === null) await owner.insert(JobRow, ofDeployment);
    else {
      const meta = owner.getMetadata().get(JobRow);
      await upsert(owner, meta as never, ofDeployment, conflict as never, database.family === 'mysql');
    }
  }

  async function dead(id: string, change: (id: string) => Promise<boolean>): Promise<void> {
    if (await change(id)) return;
    if ((await store.find(id)) === undefined) throw JobErrors.notFound();
    throw JobErrors.notDead();
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...workers.keys()].map((worker) => worker.stop(CLOSE_DRAIN_MS)));
    await sweeper.close();
    leases.close();
    wakeUps.close();
  }

  return {
    async publish(owner, job, payload, publishOptions = {}) {
      const row = rowOf(job, payload, publishOptions);
      await storeRow(owner, row);
      afterCommit(() => published(row));
      return row.id;
    },

    write(job, payload, publishOptions = {}): RowWrite {
      const row = rowOf(job, payload, publishOptions);
      return { ...writes.insert(JobRow, [row]), committed: () => published(row) } as RowWrite;
    },

    work(job, handle, workerOptions = {}) {
      if (closing !== undefined) throw JobErrors.closed();
      checkWorkerOptions(workerOptions);
      metrics.begin(job.id);
      const worker = inOwnContext(() =>
        startJobWorker(
          { ...options, store, leases, wakeUps, metrics, scheduled: sweeper.dueIn },
          job,
          handle,
          workerOptions,
        ),
      );
      workers.set(worker, job.id);
      // One look for all workers that begin in this turn.
      sweeper.dueIn(0);
      return {
        async stop(drain) {
          await worker.stop(drain);
          workers.delete(worker);
        },
      };
    },

    close() {
      closing ??= closeAll();
      return closing;
    },

    administration: {
      list: store.list,
      find: store.find,
      async retry(id) {
        await dead(id, store.revive);
        const job = await store.find(id);
        if (job === undefined) throw JobErrors.notFound();
        wakeUps.send(job.queue);
        return job;
      },
      delete: (id) => dead(id, store.bury),
    },
  };
}

interface SweeperParts {
  readonly store: Pick<JobStore, 'sweep' | 'nextDue' | 'depths'>;
  /** Those that have a worker here. */
  readonly queues: () => ReadonlySet<string>;
  readonly metrics: Pick<ReturnType<typeof createJobMetrics>, 'showDepths' | 'trouble'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly lease: number;
  readonly every: number;
  readonly depthsEvery: number;
  readonly onSwept: (swept: Swept) => void;
}

/**
 * Looks for what is due: every so often, and when a job that is known here becomes due. Begins with the first worker,
 * or the first job that has to wait.
 */
function createSweeper(parts: SweeperParts) {
  const { store, queues, metrics, clock, lease, every, depthsEvery, onSwept } = parts;
  let isClosed = false;
  let sweeping: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** When the timer fires, on the monotonic clock. */
  let at = Number.POSITIVE_INFINITY;
  let depthsAt = Number.NEGATIVE_INFINITY;

  function dueIn(delay: number): void {
    const due = clock.monotonic() + Math.min(Math.max(delay, 0), every);
    if (isClosed || due >= at) return;
    at = due;
    if (sweeping === undefined) wait();
  }

  function wait(): void {
    clearTimeout(timer);
    // A millisecond later, for the database's clock is cut to milliseconds.
    timer = setTimeout(start, Math.max(0, Math.ceil(at - clock.monotonic())) + 1);
    timer.unref();
  }

  function start(): void {
    at = Number.POSITIVE_INFINITY;
    sweeping = sweep().then((next) => {
      sweeping = undefined;
      dueIn(next);
      if (!isClosed) wait();
    });
  }

  /** Milliseconds until the next sweep. */
  async function sweep(): Promise<number> {
    try {
      onSwept(await store.sweep(queues(), lease));
      if (clock.monotonic() - depthsAt >= depthsEvery) {
        depthsAt = clock.monotonic();
        metrics.showDepths(await store.depths());
      }
      return (await store.nextDue()) ?? every;
    } catch (error) {
      if (!isClosed) metrics.trouble(error);
      return every;
    }
  }

  return {
    dueIn,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      if (sweeping !== undefined) await endsWithin(CLOSE_SWEEP_MS, sweeping);
    },
  };
}
