import {
  type Clock,
  defineJob,
  type Ids,
  type JobHandler,
  type Jobs,
  type Logger,
  type TenantEntityManager,
  type Tenants,
  Type,
  throttledLog,
} from 'agent-gateway';
import {
  endDelivery,
  findDelivery,
  findWebhook,
  logWrite,
  nextAttempt,
  type StoredDelivery,
  type StoredLog,
  type StoredWebhook,
  trimLogs,
  updateWebhook,
} from '../../store/webhooks.ts';
import { createPlaces } from './places.ts';
import type { Message, Send } from './send.ts';

/**
 * One attempt to deliver one event to one webhook. The job's own retries are for failures of the gateway, such as an
 * unreachable database.
 */
export const DeliverWebhook = defineJob(
  'runtime.webhook-delivery',
  Type.Object({
    delivery_id: Type.String(),
    webhook_id: Type.String(),
    attempt: Type.Integer({ minimum: 1 }),
  }),
  { backoff: { first: 1_000, most: 60_000 } },
);

/**
 * Deliveries in progress or queued in this process at one time, and those in progress for one webhook: all 20 webhooks
 * of a tenant stay below its 64 open requests.
 */
export const CONCURRENCY = 400;
const PER_WEBHOOK = 3;
/** Milliseconds: the longest `Retry-After` that is honoured. */
const MOST_RETRY_AFTER_MS = 3_600_000;
/** Milliseconds until it is looked again whether a deleted tenant was restored. */
const DELETED_TENANT_MS = 3_600_000;
/**
 * Milliseconds: an event whose secret this process cannot read waits as long again as it has waited, between these.
 * Another replica may have the right key, or this one soon.
 */
const LEAST_SEALED_MS = 1_000;
const MOST_SEALED_MS = 600_000;
/**
 * The random extra delay of an attempt at most, as a part of its delay: a receiver that comes back does not get all
 * attempts at once.
 */
const JITTER = 0.2;

/**
 * `delivered`; `retried`: failed, another attempt follows; `given_up`: failed, the last one; `sealed`: not attempted,
 * since the secret cannot be read here.
 */
export type AttemptResult = 'delivered' | 'retried' | 'given_up' | 'sealed';

interface DeliveriesParts {
  readonly send: Send;
  readonly jobs: Jobs;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Milliseconds before the second attempt, the third …: one attempt more than there are delays. */
  readonly backoff: readonly number[];
  /** Notifies replicas that a webhook of the tenant is no longer active. */
  readonly changed: (tenantId: string) => void;
  readonly counted: (result: AttemptResult) => void;
}

/** Makes the handler of the job, and `attempt` for tests of a webhook. */
export function createDeliveries(parts: DeliveriesParts) {
  const { send, jobs, tenants, clock, ids, log, backoff, changed, counted } = parts;
  const placeOf = createPlaces(CONCURRENCY, PER_WEBHOOK, clock);
  const sealed = throttledLog(clock, (webhook: { tenant_id: string; webhook_id: string }, times) =>
    log.error(
      { ...webhook, times },
      'events for webhooks wait: their secret cannot be read with the SVC_SECRET_KEY of this replica, which must be the same on all',
    ),
  );

  const givenUp = throttledLog(
    clock,
    (webhook: { tenant_id: string; webhook_id: string; error: string }, times) =>
      log.warn(
        { ...webhook, times },
        'events for webhooks were given up: their receivers failed at every attempt',
      ),
  );

  /** One attempt, not yet in the log. A receiver that answers 410 gets nothing more. Throws the reason of `signal`. */
  async function attempt(
    entities: TenantEntityManager,
    webhook: StoredWebhook,
    message: Message,
    number: number,
    signal: AbortSignal,
  ) {
    const { tenantId } = entities;
    const sent = await send(tenantId, webhook, message, signal);
    const { id, url } = webhook;
    // The webhook may have another address by now, whose receiver is not the one that is gone.
    const isOff = sent.isGone && (await updateWebhook(entities, { id, url }, { active: false }));
    if (isOff) {
      changed(tenantId);
      log.warn({ tenant_id: tenantId, webhook_id: id }, 'a webhook is off: its receiver is gone (410)');
    }
    const entry: StoredLog = {
      id: ids.uuid(),
      webhookId: id,
      eventId: message.eventId,
      eventType: message.eventType,
      statusCode: sent.statusCode,
      attempt: number,
      durationMs: sent.durationMs,
      error: sent.error,
      deliveredAt: clock.now(),
    };
    return { entry, sent, isOff };
  }

  const spread = (delay: number) => Math.round(delay * (1 + (JITTER * ids.bytes(1)[0]!) / 255));

  function delayAfter(number: number, retryAfterMs: number): number | undefined {
    const delay = backoff[number - 1];
    return delay === undefined
      ? undefined
      : spread(Math.max(delay, Math.min(retryAfterMs, MOST_RETRY_AFTER_MS)));
  }

  function delayWhileSealed({ createdAt }: Pick<StoredDelivery, 'createdAt'>): number {
    return spread(Math.min(Math.max(clock.now() - createdAt, LEAST_SEALED_MS), MOST_SEALED_MS));
  }

  const handle: JobHandler<{ delivery_id: string; webhook_id: string; attempt: number }> = async (
    payload,
    { entities, signal },
  ) => {
    const { delivery_id, webhook_id, attempt: number } = payload;
    const tenant = entities();
    if ((await tenants.get(tenant.tenantId))?.deletedAt != null) {
      await jobs.publish(tenant, DeliverWebhook, payload, { delay: DELETED_TENANT_MS });
      return;
    }
    const place = await placeOf(tenant.tenantId, webhook_id);
    if ('waitMs' in place) {
      await jobs.publish(tenant, DeliverWebhook, payload, { delay: place.waitMs });
      return;
    }
    try {
      signal.throwIfAborted();
      const delivery = await findDelivery(tenant, delivery_id);
      // Attempted by a process that crashed before its job was done; or deleted with its webhook; or too old.
      if (delivery?.attempt !== number) return;
      const webhook = await findWebhook(tenant, webhook_id);
      if (webhook?.active !== true) {
        await tenant.writeTogether([endDelivery(delivery)]);
        return;
      }
      const { entry, sent, isOff } = await attempt(tenant, webhook, delivery, number, signal);
      if (sent.isSealed) {
        // No attempt: a mistake of the operator's, or an exchange of the key that went wrong, must not lose the event.
        await jobs.publish(tenant, DeliverWebhook, payload, { delay: delayWhileSealed(delivery) });
        sealed({ tenant_id: tenant.tenantId, webhook_id });
        counted('sealed');
        return;
      }
      const delay = sent.error === null || isOff ? undefined : delayAfter(number, sent.retryAfterMs);
      const next =
        delay === undefined
          ? [endDelivery(delivery)]
          : [
              nextAttempt(delivery),
              jobs.write(DeliverWebhook, { ...payload, attempt: number + 1 }, { delay }),
            ];
      if (!(await tenant.writeTogether([...next, logWrite(entry)]))) return;
      counted(sent.error === null ? 'delivered' : delay === undefined ? 'given_up' : 'retried');
      if (sent.error !== null && delay === undefined && !isOff)
        givenUp({ tenant_id: tenant.tenantId, webhook_id, error: sent.error });
      await trimLogs(tenant, webhook_id);
    } finally {
      place.leave();
    }
  };

  return { attempt, handle };
}

export type Deliveries = ReturnType<typeof createDeliveries>;
