import {
  ConfigurationError,
  createSeal,
  eraseExpired,
  PersonalDataPoint,
  parseDuration,
  RetentionPoint,
  type Scope,
} from 'agent-gateway';
import type { Guard } from '../../../agent-engine/contract.ts';
import { type EventSink, EventSinksPoint } from '../../../workflow/contract.ts';
import type { RuntimeSettings } from '../../config.ts';
import { DeliveryTable, resealWebhooks, retainedLogs } from '../../store/webhooks.ts';
import { type AttemptResult, CONCURRENCY, createDeliveries, DeliverWebhook } from './deliveries.ts';
import { createWebhookData } from './personal-data.ts';
import { createSend, sealPlace } from './send.ts';
import { createWebhookEvents, type WebhookEvents, WebhooksChanged } from './webhook-events.ts';
import { createWebhooks, type Webhooks } from './webhooks.ts';

const EXPIRY_EVERY_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** While the key is exchanged: what a replica without the new key has sealed in the meantime is found then. */
const RESEAL_EVERY_MS = 3_600_000;
/** Milliseconds for which undelivered events are kept. */
const KEEP_DELIVERIES_MS = 3 * DAY_MS;

/** Attempts after the first, and the longest delay before one. */
const MAX_RETRIES = 20;
const MAX_DELAY_MS = DAY_MS;

/** Events that are published in one commit. */
const BATCH = 100;

/**
 * Opens the webhooks of all tenants: their administration, and the port that publishes events. They end with the
 * plugin.
 */
export function openWebhooks(
  scope: Scope<RuntimeSettings>,
  { guard }: { readonly guard: Guard },
): { readonly webhooks: Webhooks; readonly events: WebhookEvents } {
  const { services, config, log } = scope;
  const { database, clock, production } = services;
  const attempts = scope.metric.counter<'result'>({
    name: 'svc_webhook_attempts_total',
    help: 'Events for webhooks by what became of them: delivered, retried, given_up, sealed since their secret cannot be read, or dropped since too many were on their way.',
    labels: ['result'],
  });
  const counted = (result: AttemptResult | 'dropped', count = 1) => attempts.inc({ result }, count);
  // The first ones are an increase to Prometheus only where there was a 0 before.
  for (const result of ['given_up', 'dropped', 'sealed'] as const) counted(result, 0);
  if (config.secret_key === undefined && production) {
    log.warn('secrets of webhooks are stored without encryption: SVC_SECRET_KEY is not set');
  }

  const seal = createSeal(config.secret_key, config.secret_key_previous);
  const parts = { ...services, log, seal, guard };
  const events = createWebhookEvents({ ...parts, dropped: (count) => counted('dropped', count) });
  const deliveries = createDeliveries({
    ...parts,
    send: createSend(parts),
    backoff: readBackoff(config.webhook_backoff),
    changed: events.changed,
    counted,
  });
  const webhooks = createWebhooks({ ...parts, deliveries, changed: events.changed });

  scope.on(WebhooksChanged, ({ tenant_id }) => events.forget(tenant_id));
  scope.defer(services.events.onMissed(() => events.forget()));
  scope.worker(DeliverWebhook, deliveries.handle, { concurrency: CONCURRENCY });
  scope.every('webhook-expiry', EXPIRY_EVERY_MS, (signal) => {
    const before = clock.now() - KEEP_DELIVERIES_MS;
    return eraseExpired(database, DeliveryTable, { createdAt: { $lt: before } }, signal);
  });
  const reseal = async (signal: AbortSignal) => {
    let unreadable = 0;
    const again = (stored: string, tenantId: string, id: string) => {
      const place = sealPlace(tenantId, id);
      if (!seal.opens(stored, place)) unreadable += 1;
      return seal.reseal(stored, place);
    };
    const count = await resealWebhooks(database, again, signal);
    if (count > 0) log.info({ count }, 'secrets of webhooks were encrypted anew with SVC_SECRET_KEY');
    if (unreadable > 0)
      log.warn(
        { unreadable },
        'secrets of webhooks cannot be read with this SVC_SECRET_KEY: their events wait',
      );
  };
  const resealEvery = config.secret_key_previous === undefined ? DAY_MS : RESEAL_EVERY_MS;
  scope.every('webhook-reseal', resealEvery, reseal, { immediately: true });
  scope.contribute(RetentionPoint, retainedLogs(database));
  scope.contribute(EventSinksPoint, workflowEventSink(events));
  scope.contribute(PersonalDataPoint, createWebhookData({ database, changed: events.changed }));
  return { webhooks, events };
}

/**
 * Publishes the events of workflow runs (decisions 2.7). An event that the workflow plugin delivers again has the same
 * `webhook-id`.
 */
function workflowEventSink(events: WebhookEvents): EventSink {
  return {
    name: 'runtime-webhooks',
    wants: events.mayHear,
    async deliver(delivered, signal) {
      const [first] = delivered;
      if (first === undefined) return;
      const published = delivered.map(({ tenant_id: _, type, created_at, ...data }) => ({
        type: `workflow.${type}` as const,
        data,
        id: `${data.run_id}-${data.seq}`,
        at: new Date(created_at),
      }));
      // All of one run, and so of one tenant.
      for (let from = 0; from < published.length; from += BATCH) {
        signal.throwIfAborted();
        await events.emit(first.tenant_id, ...published.slice(from, from + BATCH));
      }
    },
  };
}

/**
 * The delays in milliseconds. Throws a ConfigurationError, which stops the start, for texts that are no list of
 * durations.
 */
function readBackoff(texts: readonly string[]): readonly number[] {
  const delays = texts.map(parseDuration);
  const isGood = (delay: number | undefined) => delay !== undefined && delay >= 1 && delay <= MAX_DELAY_MS;
  if (delays.length <= MAX_RETRIES && delays.every(isGood)) return delays as number[];
  throw new ConfigurationError([
    {
      name: 'SVC_WEBHOOK_BACKOFF',
      message: `must be a list of up to ${MAX_RETRIES} durations of up to a day, write 1s,5s,30s,120s`,
    },
  ]);
}
