import type { Clock, Logger } from 'agent-gateway';
import { LRUCache } from 'lru-cache';
import type { DeliveredEvent, EventSink } from '../../contract/event-sinks.ts';
import type { OutboxEntry } from '../ports/outbox.ts';
import type { RelayObserver } from './relay-observer.ts';

/** Milliseconds for which a sink that took too long is left alone, for one tenant. */
const REST_MS = 30_000;
const MAX_RESTING = 10_000;

/** What deliveries work with. */
export interface DeliverParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: RelayObserver;
  /** Milliseconds that a sink may take for one delivery. */
  readonly timeoutMs: number;
}

/** Gives the events of an entry to its sink: true when it has all of them now. Never rejects. */
export type Deliver = (
  sink: EventSink,
  entry: OutboxEntry,
  events: readonly DeliveredEvent[],
  signal: AbortSignal,
) => Promise<boolean>;

/**
 * Makes it. A sink that does not end in time is left alone for half a minute with what else there is for the tenant, so that it does not hold up
 * other tenants.
 */
export function createDeliver({ clock, log, observer, timeoutMs }: DeliverParts): Deliver {
  // Monotonic time, by sink and tenant.
  const restingUntil = new LRUCache<string, number>({ max: MAX_RESTING });

  return async (sink, entry, events, signal) => {
    const key = `${sink.name} ${entry.tenantId}`;
    if (clock.monotonic() < (restingUntil.get(key) ?? 0)) return false;
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`it did not end within ${timeoutMs / 1_000} s`)),
      timeoutMs,
    );
    try {
      await unlessAborted(AbortSignal.any([signal, deadline.signal]), (end) => sink.deliver(events, end));
      observer.delivered(sink.name, events.length, Math.max(0, clock.now() - entry.createdAt));
      return true;
    } catch (err) {
      if (signal.aborted) return false;
      if (deadline.signal.aborted) restingUntil.set(key, clock.monotonic() + REST_MS);
      observer.failed(sink.name);
      const { tenantId: tenant_id, runId: run_id, attempts } = entry;
      log.warn(
        { err, sink: sink.name, tenant_id, run_id, attempts },
        'events of a run were not delivered and come again later',
      );
      return false;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** A sink that ignores its signal is not waited for. */
async function unlessAborted(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work(signal), promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
