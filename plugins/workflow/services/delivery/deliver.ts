import type { Clock, Logger } from 'agent-gateway';
import type { DeliveredEvent, EventSink } from '../../contract/event-sinks.ts';
import type { RelayMetrics } from '../../metrics.ts';
import type { OutboxEntry } from '../ports/outbox.ts';
import type { SinkCooldown } from './sink-dispatcher.ts';

/** What deliveries work with. */
export interface DeliverParts {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  readonly metrics: RelayMetrics;
  /** Milliseconds that a sink may take for one delivery. */
  readonly timeoutMs: number;
}

/** A delivery. */
export interface Delivery {
  readonly sink: EventSink;
  readonly cooldown: SinkCooldown;
  readonly entry: OutboxEntry;
  readonly events: readonly DeliveredEvent[];
  /** When the entry was taken, in monotonic time. */
  readonly takenAt: number;
}

/** The sink has all of the events, or refused them (an end that did not come in time is one), or was not let end: `signal` aborted. */
export type Outcome = 'delivered' | 'refused' | 'ended';

/** Gives the events of an entry to its sink. Never rejects. */
export type Deliver = (delivery: Delivery, signal: AbortSignal) => Promise<Outcome>;

/** Makes it. A sink that does not end in time is then left alone for a while, for the tenant. */
export function createDeliver({ clock, log, metrics, timeoutMs }: DeliverParts): Deliver {
  return async ({ sink, cooldown, entry, events, takenAt }, signal) => {
    const { tenantId, runId: run_id, attempts } = entry;
    const timeout = new Error(`it did not end within ${timeoutMs / 1_000} s`);
    try {
      await withDeadline(signal, timeoutMs, timeout, (end) => sink.deliver(events, end));
      cooldown.end(tenantId);
      metrics.delivered(sink.name, events.length, entry.ageMs + Math.max(0, clock.monotonic() - takenAt));
      return 'delivered';
    } catch (err) {
      if (signal.aborted) return 'ended';
      if (err === timeout) cooldown.begin(tenantId);
      else cooldown.end(tenantId);
      metrics.failed(sink.name);
      log.warn(
        { err, sink: sink.name, tenant_id: tenantId, run_id, attempts },
        'events of a run were not delivered and come again later',
      );
      return 'refused';
    }
  };
}

/**
 * Ends work when its time is over or `signal` aborts; a sink that ignores that is not waited for. The work has a signal of its own: listeners that it
 * leaves there go with it, while those at a signal that lives as long as the plugin would stay.
 */
async function withDeadline(
  signal: AbortSignal,
  timeoutMs: number,
  timeout: Error,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const own = new AbortController();
  const end = (reason: unknown) => {
    // First: what the sink throws because of the signal would hide the reason.
    reject(reason);
    own.abort(reason);
  };
  const onAbort = () => end(signal.reason);
  const timer = setTimeout(() => end(timeout), timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([promise, work(own.signal)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
