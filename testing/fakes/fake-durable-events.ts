import { payloadProblem } from '../../foundation/base/json-schema.ts';
import { TenantEntityManager } from '../../foundation/data/tenant-entity-manager.ts';
import type {
  DurableEventContext,
  DurableEventHandler,
  DurableEventRef,
  DurableEvents,
  DurableEventsHost,
} from '../../foundation/messages/durable-events/durable-events.ts';
import { JobErrors } from '../../foundation/messages/jobs/jobs.ts';
import { createLogger } from '../../foundation/observability/logger.ts';

/** An event that a test's subject has published. */
export interface PublishedEvent {
  /** The id of its `DurableEventRef`. */
  readonly event: string;
  readonly payload: unknown;
  /** `undefined` for `writes`, which have the tenant of their entities. */
  readonly tenantId: string | undefined;
}

/** Durable events in memory: what is published is noted. Transactions are not followed. */
export interface FakeDurableEvents extends DurableEvents, Pick<DurableEventsHost, 'publishOf'> {
  /** What was published, in order. */
  readonly published: readonly PublishedEvent[];
  /** Hands all that was published of one kind to a handler, one after the other. What it throws is thrown. */
  deliver<T>(
    event: DurableEventRef<T>,
    handle: DurableEventHandler<T>,
    context?: Partial<DurableEventContext>,
  ): Promise<void>;
}

/**
 * Durable events for tests: they record what was published, as if every event had a subscriber.
 *
 * @example
 * const durableEvents = fakeDurableEvents();
 * await pay(durableEvents, order);
 * t.like(durableEvents.published, [{ event: 'shop.order-paid' }]);
 */
export function fakeDurableEvents(): FakeDurableEvents {
  const published: PublishedEvent[] = [];
  const { logger: log } = createLogger({ level: 'silent' });

  function note({ id, schema }: DurableEventRef<unknown>, payload: unknown, tenantId?: string): void {
    const problem = payloadProblem(schema, payload);
    if (problem !== undefined) throw JobErrors.payloadInvalid(`${id}: ${problem}`);
    published.push({ event: id, payload: structuredClone(payload), tenantId });
  }

  return {
    published,
    async publish(entities, event, payload) {
      note(event, payload, entities instanceof TenantEntityManager ? entities.tenantId : undefined);
    },
    async publishOf(_entities, tenantId, event, payload) {
      note(event, payload, tenantId);
    },
    writes(event, payload) {
      note(event, payload);
      return [];
    },
    hasSubscribers: () => true,
    async deliver(event, handle, context = {}) {
      for (const [index, { payload, tenantId }] of published.entries()) {
        if (published[index]?.event !== event.id) continue;
        await handle(payload as never, {
          id: `event-${index + 1}`,
          at: new Date(0),
          tenantId: tenantId ?? 'tenant',
          attempt: 1,
          isLast: false,
          signal: new AbortController().signal,
          log,
          entities() {
            throw new TypeError('A fake event has no database');
          },
          ...context,
        });
      }
    },
  };
}
