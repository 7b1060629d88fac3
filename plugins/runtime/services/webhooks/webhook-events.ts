import {
  type Clock,
  createSharedCache,
  type Database,
  defineEvent,
  type Ids,
  type Jobs,
  type Logger,
  type RowWrite,
  Type,
  throttledLog,
} from 'agent-gateway';
import type { Guard } from '../../../agent-engine/contract.ts';
import { deliveryWrite, listWebhooks, pendingByWebhook, type StoredDelivery } from '../../store/webhooks.ts';
import { DeliverWebhook } from './deliveries.ts';
import { eventBody } from './event-body.ts';
import { matchesType, type WebhookEventType } from './event-types.ts';

/** Something that happened in a tenant. */
export interface WebhookEvent {
  readonly type: WebhookEventType;
  /**
   * Wire names. It should hold ids and amounts rather than content; credentials are redacted, and data above 64 KiB are
   * cut to an outline.
   */
  readonly data: object;
  /** The user whose activity it reports, for the erasure of that user: `userId` of the session. */
  readonly userId?: string | undefined;
  /**
   * The same each time the same event is published, 64 characters at most without `.`; receivers see it as
   * `webhook-id`. Default: a new one.
   */
  readonly id?: string;
  /** When it happened; default: now. */
  readonly at?: Date;
}

/**
 * Publishes events to the webhooks of their tenant, durably: a published event is delivered, or abandoned after the
 * last attempt.
 */
export interface WebhookEvents {
  /**
   * The writes that publish events, for the commit of what they report (`TurnOutcome.also`, `entities.writeTogether`):
   * published with it, or not at all. None, and no statement, where no webhook of the tenant subscribes to them. Must
   * not be called inside a transaction, since it may query the database.
   *
   * @throws lookup.unavailable while the database does not answer
   */
  writes(tenantId: string, events: readonly WebhookEvent[]): Promise<readonly RowWrite[]>;
  /** Publishes events that have no commit of their own. */
  emit(tenantId: string, ...events: readonly WebhookEvent[]): Promise<void>;
  /** False where it is known, from memory, that the tenant has no active webhook. */
  mayHear(tenantId: string): boolean;
  /** Notifies every replica that the webhooks of a tenant have changed, so that it reads them again. */
  changed(tenantId: string): void;
}

/** The webhooks of a tenant have changed. */
export const WebhooksChanged = defineEvent(
  'runtime.webhooks-changed',
  Type.Object({ tenant_id: Type.String() }),
);

/** Webhooks of one tenant. */
export const MAX_WEBHOOKS = 20;
/**
 * Undelivered events of one webhook, roughly: above it new ones are dropped, since the receiver has been unreachable
 * for long.
 */
export const MAX_PENDING = 10_000;
/**
 * Milliseconds for which the webhooks of a tenant are cached where this process receives change events, and where it
 * may not receive them.
 */
const MAX_AGE_MS = 10_000;
const MAX_AGE_ALONE_MS = 1_000;
const MAX_TENANTS = 10_000;

/** An active webhook, as far as publishing goes. */
interface Hearer {
  readonly id: string;
  readonly patterns: readonly string[];
  readonly isFull: boolean;
}

interface WebhookEventsParts {
  readonly database: Database;
  readonly jobs: Jobs;
  readonly events: {
    readonly reach: 'process' | 'redis' | 'postgres';
    emit(event: typeof WebhooksChanged, payload: { tenant_id: string }): void;
  };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly guard: Pick<Guard, 'redactJsonText'>;
  readonly log: Logger;
  /** Counts dropped events. */
  readonly dropped: (count: number) => void;
}

/** Makes the port. `forget` drops what is cached of a tenant, or of all. */
export function createWebhookEvents(parts: WebhookEventsParts) {
  const { database, jobs, events, clock, ids, guard, log, dropped } = parts;
  const hearers = createSharedCache<readonly Hearer[] | undefined>({
    load,
    clock,
    maxAge: events.reach === 'process' ? MAX_AGE_ALONE_MS : MAX_AGE_MS,
    maxEntries: MAX_TENANTS,
    weigh: (found) => JSON.stringify(found).length,
  });
  const logDropped = throttledLog<{ tenant_id: string; webhook_id: string }>(clock, (detail, count) =>
    log.warn({ ...detail, count }, 'events are left out: too many are on their way to the webhook'),
  );

  async function load(tenantId: string): Promise<readonly Hearer[] | undefined> {
    const entities = database.forTenant(tenantId);
    const { webhooks } = await listWebhooks(entities, { limit: MAX_WEBHOOKS, offset: 0 });
    const active = webhooks.filter((webhook) => webhook.active);
    if (active.length === 0) return undefined;
    const pending = await pendingByWebhook(entities);
    return active.map(({ id, events: patterns }) => ({
      id,
      patterns,
      isFull: (pending.get(id) ?? 0) >= MAX_PENDING,
    }));
  }

  function deliveriesOf(event: WebhookEvent, tenantId: string, known: readonly Hearer[]): StoredDelivery[] {
    const wanting = known.filter(({ patterns }) => patterns.some((one) => matchesType(one, event.type)));
    for (const { id } of wanting.filter(({ isFull }) => isFull)) {
      dropped(1);
      logDropped({ tenant_id: tenantId, webhook_id: id });
    }
    const open = wanting.filter(({ isFull }) => !isFull);
    if (open.length === 0) return [];
    const { type, data, userId = null, id: eventId = ids.uuid(), at = new Date(clock.now()) } = event;
    const body = eventBody({ type, at, data }, guard);
    const common = { eventId, eventType: type, userId, body, attempt: 1, createdAt: clock.now() };
    return open.map(({ id: webhookId }) => ({ id: ids.uuid(), webhookId, ...common }));
  }

  async function writes(tenantId: string, happened: readonly WebhookEvent[]): Promise<readonly RowWrite[]> {
    const known = happened.length === 0 ? undefined : await hearers.get(tenantId);
    if (known === undefined) return [];
    const deliveries = happened.flatMap((event) => deliveriesOf(event, tenantId, known));
    if (deliveries.length === 0) return [];
    const begun = deliveries.map(({ id, webhookId }) =>
      jobs.write(DeliverWebhook, { delivery_id: id, webhook_id: webhookId, attempt: 1 }),
    );
    return [deliveryWrite(deliveries), ...begun];
  }

  return {
    writes,
    async emit(tenantId, ...happened) {
      const published = await writes(tenantId, happened);
      if (published.length > 0) await database.forTenant(tenantId).writeTogether(published);
    },
    mayHear(tenantId) {
      const known = hearers.get(tenantId);
      if (!(known instanceof Promise)) return known !== undefined;
      // Ignored here: a caller that needs the webhooks loads them again and gets the failure.
      known.catch(() => {});
      return true;
    },
    changed(tenantId) {
      hearers.forget(tenantId);
      events.emit(WebhooksChanged, { tenant_id: tenantId });
    },
    forget: (tenantId?: string) => (tenantId === undefined ? hearers.clear() : hearers.forget(tenantId)),
  } satisfies WebhookEvents & { forget(tenantId?: string): void };
}
