import { backoffDelay } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { endsWithin } from '../../base/deadline.ts';
import { messageOf } from '../../base/failure.ts';
import type { Ids } from '../../base/ids.ts';
import { refuseMisspelled } from '../../base/nearest-name.ts';
import { storableText } from '../../base/storable-text.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import { clipText } from '../../observability/redact-text.ts';
import { HandlerRuns, type RunOutcome } from '../handler-runs.ts';
import { readPayload } from '../payload.ts';
import type { WakeUps } from '../wake-ups.ts';
import type { JobLeases } from './job-leases.ts';
import type { JobMetrics } from './job-metrics.ts';
import type { ClaimedJob, JobStore, Settlement } from './job-store.ts';
import { DEPLOYMENT } from './job-table.ts';
import { JobErrors, type JobHandler, type JobRef, type JobWorker, type WorkerOptions } from './jobs.ts';

/** What all workers of a process share. */
export interface JobWorkerParts {
  readonly store: JobStore;
  readonly leases: JobLeases;
  readonly wakeUps: WakeUps;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: JobMetrics;
  readonly withoutSecrets: (text: string) => string;
  /** A job is due in so many milliseconds: the sweep comes in time. */
  readonly scheduled: (delay: number) => void;
}

/** A worker that can be woken. */
export interface WakeableWorker extends JobWorker {
  wake(): void;
}

const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 1_000;
const MAX_ERROR = 900;
/** What a stop waits for a claim under way. */
const CLAIM_END_MS = 2_000;

/** Checks what a worker asks for. @throws job.option-invalid, and TypeError for a misspelled option */
export function checkWorkerOptions(options: WorkerOptions = {}): void {
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  refuseMisspelled('options of a worker', options, ['concurrency']);
  if (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= MAX_CONCURRENCY) return;
  throw JobErrors.optionInvalid(`concurrency: must be a whole number from 1 to ${MAX_CONCURRENCY}`);
}

/**
 * Claims jobs while there are free places, one tenant after the other, and runs them. It looks when it is woken and
 * when a place becomes free; for what waits already the caller wakes it.
 */
export function startJobWorker<T>(
  parts: JobWorkerParts,
  job: JobRef<T>,
  handle: JobHandler<T>,
  { concurrency = DEFAULT_CONCURRENCY }: WorkerOptions,
): WakeableWorker {
  const { store, leases, wakeUps, database, clock, ids, metrics } = parts;
  const queue = job.id;
  const log = parts.log.child({ queue });
  const runs = new HandlerRuns(job.settings.timeout, clock);
  let isStopped = false;
  let mustLookAgain = false;
  let looking: Promise<void> | undefined;
  /** The tenant whose turn it was. */
  let cursor = '';

  function wake(): void {
    if (isStopped) return;
    mustLookAgain = true;
    looking ??= look().finally(() => {
      looking = undefined;
    });
  }

  async function look(): Promise<void> {
    while (mustLookAgain && !isStopped) {
      mustLookAgain = false;
      try {
        while (runs.size < concurrency && !isStopped) {
          const claimed = await claimNext();
          if (claimed === undefined) break;
          void run(claimed).then(wake);
        }
      } catch (error) {
        // The sweep looks again.
        metrics.trouble(error);
      }
    }
  }

  async function claimNext(): Promise<ClaimedJob | undefined> {
    const ticket = ids.opaque();
    const lease = leases.begin(ticket);
    let claimed = await store.claim(queue, cursor, ticket, leases.length);
    // All tenants behind the cursor had their turn.
    if (claimed === undefined && cursor !== '') claimed = await store.claim(queue, '', ticket, leases.length);
    cursor = claimed?.tenantId ?? '';
    if (claimed === undefined) return undefined;
    if (!isStopped) {
      leases.hold(lease);
      return claimed;
    }
    await store.settle(claimed, { kind: 'returned' });
    wakeUps.send(queue);
    return undefined;
  }

  async function run(claimed: ClaimedJob): Promise<void> {
    const { id, tenantId, ticket, attempt, maxAttempts } = claimed;
    const tenant = tenantId === DEPLOYMENT ? undefined : tenantId;
    const jobLog = log.child({ job_id: id, attempt, ...(tenant === undefined ? {} : { tenant_id: tenant }) });
    const work = async (signal: AbortSignal) => {
      const read = readPayload<T>(job.schema, claimed.payload);
      if ('problem' in read) throw JobErrors.payloadInvalid(`${queue}: ${read.problem}`);
      await handle(read.payload, {
        id,
        tenantId: tenant,
        entities: () => {
          if (tenant === undefined) throw new TypeError(`A job of the deployment has no tenant: ${queue}`);
          return database.forTenant(tenant);
        },
        attempt,
        isLast: attempt >= maxAttempts,
        signal,
        log: jobLog,
      });
    };
    try {
      await runs.run(work, (outcome) => finish(claimed, outcome, jobLog), leases.lost(ticket));
    } catch (error) {
      // Its lease ends, and another attempt follows.
      metrics.trouble(error);
    } finally {
      leases.end(ticket);
    }
  }

  async function finish(claimed: ClaimedJob, outcome: RunOutcome, jobLog: Logger): Promise<void> {
    const { result, failure, hasEnded, seconds } = outcome;
    metrics.seconds.observe({ queue }, seconds);
    if (result === 'lost')
      return jobLog.warn({ err: failure }, 'a job lost its lease: another attempt follows');
    const end = settlementOf(claimed, outcome);
    const isMine = await store.settle(claimed, end);
    if (!isMine)
      return jobLog.warn('a job had lost its lease when its attempt ended: another attempt follows');
    if (end.kind === 'returned') return wakeUps.send(queue);
    if (end.kind === 'done') return metrics.completed.inc({ queue });
    metrics.failed.inc({ queue });
    if (!hasEnded) jobLog.error('the handler of a job goes on after its signal was aborted');
    if (end.kind === 'retry') {
      parts.scheduled(end.delay);
      return jobLog.warn(
        { err: failure, result, retry_ms: Math.round(end.delay) },
        'an attempt of a job failed',
      );
    }
    metrics.dead.inc({ queue });
    jobLog.error({ err: failure, result }, 'a job is dead: its last attempt failed');
  }

  function settlementOf(claimed: ClaimedJob, { result, failure }: RunOutcome): Settlement {
    if (result === 'ok') return { kind: 'done' };
    if (result === 'stopped') return { kind: 'returned' };
    const error =
      result === 'timeout'
        ? 'it did not end before its deadline'
        : errorText(parts.withoutSecrets(messageOf(failure)));
    if (claimed.attempt >= claimed.maxAttempts) return { kind: 'dead', error };
    const random = ids.bytes(1)[0]! / 255;
    return { kind: 'retry', delay: backoffDelay(claimed.attempt, job.settings.backoff, random), error };
  }

  const undo = wakeUps.on(queue, wake);
  return {
    wake,
    async stop(drain) {
      isStopped = true;
      undo();
      await runs.drain(drain);
      if (looking !== undefined) await endsWithin(CLAIM_END_MS, looking);
    },
  };
}

/**
 * For operators: no stack, no credentials, and nothing that a database would refuse, or the attempt could not be noted
 * as failed.
 */
function errorText(message: string): string {
  const text = clipText(message, MAX_ERROR);
  return storableText(text, text.length);
}
