import type { Clock, Ids, Logger } from 'agent-gateway';
import { delayAfter } from '../rules/schedule.ts';
import type { DeliveryStore } from '../store/deliveries.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';
import type { DeliveryRow, EventRow } from '../store/tables.ts';
import { OWN } from './events.ts';
import type { SendEvent } from './send-event.ts';

/** Subscriptions that are served at one time: those that answer, and those whose last attempt took all of its time. Neither kind takes the places of the other. */
const PLACES = 128;
const SLOW_PLACES = 128;
/** Milliseconds for which one that hung counts as slow. */
const SLOW_MS = 600_000;
/** Milliseconds for which a delivery is the process's that attempts it: longer than an attempt takes. */
const CLAIM_MS = 30_000;
const LOOKED_AT = 2_000;
const REASON_LENGTH = 500;

/** What became of an attempt. */
export type AttemptResult = 'delivered' | 'retried' | 'dead';

/** Delivers what is due: each subscription has a queue of its own, of which one delivery is under way at a time. */
export interface Dispatcher {
  /** Looks for what is due, soon. */
  wake(): void;
  /** The same, and resolves when the look is over (not the deliveries). */
  sweep(): Promise<void>;
  /** Ends: what is under way when `signal` aborts goes back as it was. */
  finish(signal: AbortSignal): Promise<void>;
}

export function createDispatcher(parts: {
  readonly deliveries: DeliveryStore;
  readonly subscriptions: Pick<SubscriptionStore, 'find' | 'note'>;
  readonly send: SendEvent;
  /** Does with an event what this gateway itself has to do. */
  readonly apply: (event: EventRow) => Promise<void>;
  readonly backoff: readonly number[];
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid' | 'bytes'>;
  readonly log: Logger;
  readonly counted: (result: AttemptResult) => void;
  readonly changed: () => void;
}): Dispatcher {
  const { deliveries, subscriptions, send, apply, backoff, clock, ids, log, counted, changed } = parts;
  const busy = new Map<string, Promise<void>>();
  const slowUntil = new Map<string, number>();
  const stop = new AbortController();
  let isEnding = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let slowBusy = 0;

  const isSlow = (id: string) => (slowUntil.get(id) ?? 0) > clock.monotonic();

  /** One attempt. Gives how it went. */
  async function attempt(
    delivery: DeliveryRow,
    event: EventRow,
  ): Promise<{ error: string | null; retryAfterMs: number }> {
    const { subscriptionId, id, attempts } = delivery;
    if (subscriptionId === OWN) {
      try {
        await apply(event);
        return { error: null, retryAfterMs: 0 };
      } catch (err) {
        log.warn({ err, event: event.id }, 'what a node reported could not be applied here');
        return { error: 'This gateway could not apply it.', retryAfterMs: 0 };
      }
    }
    const subscription = await subscriptions.find(subscriptionId);
    // It was deleted, and its deliveries with it, but for what was accepted at that very moment.
    if (subscription === undefined) return { error: null, retryAfterMs: 0 };
    const sent = await send(subscription, { id, attempt: attempts + 1 }, event, stop.signal);
    if (sent.hung) slowUntil.set(subscriptionId, clock.monotonic() + SLOW_MS);
    else slowUntil.delete(subscriptionId);
    await subscriptions.note(subscriptionId, new Date(clock.now()), sent.error);
    return sent;
  }

  /** Delivers one. False where nothing is due, or the subscription has to make room. */
  async function deliverNext(subscriptionId: string): Promise<boolean> {
    const now = clock.now();
    const until = new Date(now + CLAIM_MS);
    const delivery = await deliveries.claim(subscriptionId, new Date(now), until, ids.uuid());
    if (delivery === undefined) return false;
    try {
      const event = await deliveries.event(delivery.eventId);
      const { error, retryAfterMs } =
        event === undefined ? { error: null, retryAfterMs: 0 } : await attempt(delivery, event);
      if (error === null) {
        await deliveries.done(delivery);
        counted('delivered');
        return true;
      }
      const failed = delivery.attempts + 1;
      const delay = delayAfter(failed, backoff, ids.bytes(1)[0]! / 255, retryAfterMs);
      const dueAt = delay === undefined ? undefined : new Date(clock.now() + delay);
      await deliveries.failed(delivery, error.slice(0, REASON_LENGTH), dueAt);
      counted(delay === undefined ? 'dead' : 'retried');
      // The sweep finds what is due in a second or later.
      if (delay !== undefined && delay < 1_000) setTimeout(wake, delay + 1).unref();
      return !isSlow(subscriptionId);
    } catch (err) {
      await deliveries.release(delivery);
      if (!stop.signal.aborted)
        log.warn({ err, subscription: subscriptionId }, 'a delivery could not be attempted');
      return false;
    }
  }

  async function serve(subscriptionId: string): Promise<void> {
    try {
      while (!isEnding && (await deliverNext(subscriptionId)));
    } catch (err) {
      log.warn({ err, subscription: subscriptionId }, 'deliveries wait: the database does not answer');
    }
    changed();
  }

  function start(id: string): void {
    const slow = isSlow(id);
    if (slow ? slowBusy >= SLOW_PLACES : busy.size - slowBusy >= PLACES) return;
    if (slow) slowBusy += 1;
    const serving = serve(id).finally(() => {
      busy.delete(id);
      if (slow) slowBusy -= 1;
      // Others may wait for the place.
      if (busy.size >= PLACES - 1 || slow) wake();
    });
    busy.set(id, serving);
  }

  async function look(): Promise<void> {
    do {
      lookAgain = false;
      const due = await deliveries.dueSubscriptions(new Date(clock.now()), LOOKED_AT);
      if (isEnding) return;
      for (const id of due) if (!busy.has(id)) start(id);
    } while (lookAgain);
  }

  function sweep(): Promise<void> {
    if (isEnding) return Promise.resolve();
    lookAgain = looking !== undefined;
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  function wake(): void {
    sweep().catch((err: unknown) => log.warn({ err }, 'deliveries wait: the database does not answer'));
  }

  return {
    wake,
    sweep,
    async finish(signal) {
      isEnding = true;
      const abort = () => stop.abort(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
      await looking?.catch(() => {});
      await Promise.all(busy.values());
    },
  };
}
