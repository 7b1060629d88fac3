import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Database } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Events } from '../events/events.ts';
import type { JobsHost } from '../jobs/jobs.ts';
import {
  type DurableEventRef,
  type DurableEventsHost,
  deliveryJob,
  type Envelope,
} from './durable-events.ts';
import { openSubscriptions, type SubscriptionTimes } from './subscriptions.ts';

export interface OpenDurableEventsOptions {
  /** Has the tables of `jobRegistration` and `subscriptionRegistration`. */
  readonly database: Database;
  readonly jobs: Pick<JobsHost, 'publish' | 'write' | 'work'>;
  readonly events: Pick<Events, 'emit' | 'on' | 'onMissed'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Other times than the usual ones; for tests. */
  readonly times?: Partial<SubscriptionTimes>;
}

/** Opens durable events: jobs, one queue for each subscription, and the table of subscriptions. */
export async function openDurableEvents(options: OpenDurableEventsOptions): Promise<DurableEventsHost> {
  const { database, jobs, clock, ids, log } = options;
  const inOwnContext = AsyncLocalStorage.snapshot();
  const onTrouble = throttledLog<unknown>(clock, (err, count) =>
    log.warn({ err, count }, 'the subscriptions to durable events could not be read: what is known goes on'),
  );
  const subscriptions = await openSubscriptions({ ...options, onTrouble });

  /** One job for each subscription, all with the same event. */
  function deliveries(event: DurableEventRef<unknown>, data: unknown, tenantId?: string) {
    const queues = subscriptions.of(event.id);
    if (queues.length === 0) return [];
    const payload: Envelope = {
      id: ids.uuid(),
      at: clock.now(),
      data,
      ...(tenantId !== undefined && { tenant_id: tenantId }),
    };
    return queues.map(({ queue, attempts }) => ({ job: deliveryJob(queue, event, { attempts }), payload }));
  }

  return {
    async publish(entities, event, data) {
      for (const { job, payload } of deliveries(event, data)) await jobs.publish(entities, job, payload);
    },

    async publishOf(entities, tenantId, event, data) {
      for (const { job, payload } of deliveries(event, data, tenantId))
        await jobs.publish(entities, job, payload);
    },

    writes: (event, data) => deliveries(event, data).map(({ job, payload }) => jobs.write(job, payload)),

    hasSubscribers: ({ id }) => subscriptions.of(id).length > 0,

    subscribe({ event, job, worker: workerOptions, handle }) {
      const worker = jobs.work(
        job,
        async ({ id, at, tenant_id, data }, context) => {
          const tenantId = context.tenantId ?? tenant_id;
          if (tenantId === undefined) throw new TypeError(`An event without a tenant: ${event.id}`);
          const { attempt, isLast, signal } = context;
          await handle(data as never, {
            id,
            at: new Date(at),
            tenantId,
            attempt,
            isLast,
            signal,
            log: context.log.child({ event_id: id, ...(tenant_id !== undefined && { tenant_id }) }),
            entities: () => database.forTenant(tenantId),
          });
        },
        workerOptions,
      );
      const { attempts } = job.settings;
      const leave = inOwnContext(() => subscriptions.add({ queue: job.id, event: event.id, attempts }));
      return {
        async stop(drain) {
          leave();
          await worker.stop(drain);
        },
      };
    },

    close: () => subscriptions.close(),
  };
}
