import {
  Bulkhead,
  type Clock,
  createSharedCache,
  type Ids,
  type Logger,
  type Release,
  TransientMap,
  throttledLogs,
} from 'agent-gateway';
import { delayAfter } from '../rules/schedule.ts';
import type { DeliveryStore, DueSubscription } from '../store/deliveries.ts';
import type { GeneStore } from '../store/genes.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';
import type { DeliveryRow, EventRow, SubscriptionRow } from '../store/tables.ts';
import { createArrivals } from './arrivals.ts';
import { OWN } from './events.ts';
import type { SendEvent } from './send-event.ts';

/** Subscriptions that are served at one time. */
const PLACES = 256;
/** Milliseconds for which the attempting process holds its claim on a delivery: longer than an attempt takes. */
const CLAIM_MS = 30_000;
/**
 * Subscriptions that one query reads: the maximum number, and this gateway's own; with a lower limit, subscriptions
 * that hang could fill it.
 */
const LOOKED_AT = 10_001;
/** Events that are cached, and milliseconds for which: many subscribers get the same event, and it never changes. */
const EVENTS = 64;
const EVENT_MS = 60_000;

/** The outcome of an attempt. */
export type AttemptResult = 'delivered' | 'retried' | 'dead';

interface Attempt {
  readonly error: string | null;
  readonly retryAfterMs: number;
}

const UNANSWERED = 'deliveries wait: the database does not answer';

const ARRIVED: Attempt = { error: null, retryAfterMs: 0 };

/** A delivery that this process has claimed. */
interface Claim {
  readonly delivery: DeliveryRow;
  /** Undefined where it was deleted, and for this gateway's own queue. */
  readonly subscription: SubscriptionRow | undefined;
  /** Whether another delivery of the subscription was due. */
  readonly hasMore: boolean;
}

type Claims = ReadonlyMap<string, Claim>;

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** Sends due deliveries. Each subscription has a queue of its own, with one delivery in progress at a time. */
export function createDispatcher(parts: {
  readonly deliveries: DeliveryStore;
  readonly subscriptions: Pick<SubscriptionStore, 'findAll' | 'noteDelivered' | 'noteFailed'>;
  readonly genes: Pick<GeneStore, 'find'>;
  readonly send: SendEvent;
  /** Applies an event to this gateway itself. */
  readonly apply: (event: EventRow) => Promise<void>;
  readonly backoff: readonly number[];
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid' | 'bytes'>;
  readonly log: Logger;
  readonly counted: (result: AttemptResult) => void;
  readonly changed: () => void;
}) {
  const { deliveries, subscriptions, genes, send, apply, backoff, clock, ids, log, counted, changed } = parts;
  const busy = new TransientMap<string, Promise<void>>();
  const places = new Bulkhead(PLACES, clock);
  /** Subscriptions with due deliveries that have no place yet, those that have waited longest first. */
  let ready: readonly DueSubscription[] = [];
  /** Subscriptions for which more was found due while one of their deliveries was in progress. */
  const again = new Set<string>();
  const stop = new AbortController();
  let isEnding = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let isFilling = false;

  const now = () => new Date(clock.now());
  /** A database that is away, or a key that cannot be opened, fails all that is due, every second anew. */
  const warn = throttledLogs<object>(clock, (said, fields, count) => log.warn({ ...fields, count }, said));
  const arrived = createArrivals({ deliveries, subscriptions, now });
  const events = createSharedCache<EventRow | undefined>({
    clock,
    maxAge: EVENT_MS,
    maxEntries: EVENTS,
    load: (id) => deliveries.event(id),
  });

  /** Claims the oldest due delivery of each of these subscriptions. */
  async function claim(subscriptionIds: readonly string[]): Promise<Claims> {
    const { claims, leftOut } = await deliveries.claim(
      subscriptionIds,
      now(),
      new Date(clock.now() + CLAIM_MS),
      ids.uuid(),
    );
    const owed = claims.map(({ delivery }) => delivery.subscriptionId);
    const found = owed.length === 0 ? [] : await subscriptions.findAll(owed);
    const byId = new Map(found.map((one) => [one.id, one]));
    for (const id of leftOut) again.add(id);
    return new Map(
      claims.map((one) => {
        const { subscriptionId } = one.delivery;
        return [subscriptionId, { ...one, subscription: byId.get(subscriptionId) }];
      }),
    );
  }

  /**
   * Whether an earlier attempt failed, and the promoted gene was revoked since: sent now, it would come after its
   * revocation.
   */
  async function isOvertaken({ reason }: DeliveryRow, { type, nodeId, gene }: EventRow): Promise<boolean> {
    if (reason === null || type !== 'gene_promoted') return false;
    return (await genes.find(nodeId, gene.geneId))?.state === 'revoked';
  }

  /** Makes one attempt, and returns its outcome; undefined where nothing has to be sent any more. */
  async function attempt({ delivery, subscription }: Claim, event: EventRow): Promise<Attempt | undefined> {
    const { subscriptionId, id, attempts } = delivery;
    if (await isOvertaken(delivery, event)) return undefined;
    if (subscriptionId === OWN) {
      try {
        await apply(event);
        return ARRIVED;
      } catch (err) {
        log.warn({ err, event: event.id }, 'what a node reported could not be applied here');
        return { error: 'This gateway could not apply it.', retryAfterMs: 0 };
      }
    }
    // The subscription was deleted with its deliveries; this one was accepted at the same moment.
    if (subscription === undefined) return undefined;
    const sent = await send(subscription, { id, attempt: attempts + 1 }, event, stop.signal);
    if (sent.error !== null) await subscriptions.noteFailed(subscriptionId, now(), sent.error);
    return sent;
  }

  /** Sends a claimed delivery. False where nothing else is known to be due. */
  async function deliver(claimed: Claim): Promise<boolean> {
    const { delivery, hasMore } = claimed;
    const { subscriptionId } = delivery;
    try {
      const event = await events.get(delivery.eventId);
      const made = event === undefined ? undefined : await attempt(claimed, event);
      if (made === undefined) {
        await deliveries.done([delivery]);
        return hasMore;
      }
      const { error, retryAfterMs } = made;
      if (error === null) {
        await arrived(delivery);
        counted('delivered');
        return hasMore;
      }
      const failed = delivery.attempts + 1;
      const delay = delayAfter(failed, backoff, ids.bytes(1)[0]! / 255, retryAfterMs);
      const dueAt = new Date(clock.now() + (delay ?? 0));
      await deliveries.failed(delivery, error, { state: delay === undefined ? 'dead' : 'waiting', dueAt });
      counted(delay === undefined ? 'dead' : 'retried');
      // The periodic sweep finds deliveries that are due in a second or later.
      if (delay !== undefined && delay < 1_000) setTimeout(wake, delay + 1).unref();
      return hasMore;
    } catch (err) {
      await deliveries.release(delivery);
      if (!stop.signal.aborted)
        warn('a delivery could not be attempted', { err, subscription: subscriptionId });
      return false;
    }
  }

  /** Sends what is due to a subscription that has a place. One that is slow gives it up after each delivery. */
  async function serve({ id, owner }: DueSubscription, first: Promise<Claims>, place: Release) {
    let leave: Release | undefined = place;
    try {
      for (let claims = first; ; claims = claim([id])) {
        const claimed = (await claims).get(id);
        if (claimed === undefined) break;
        if (isEnding) {
          await deliveries.release(claimed.delivery);
          break;
        }
        if (!(await deliver(claimed)) || isEnding) break;
        leave();
        leave = places.isSlow(id) ? undefined : places.enter(id, owner);
        if (leave === undefined) break;
      }
    } catch (err) {
      warn(UNANSWERED, { err, subscription: id });
    }
    leave?.();
    changed();
  }

  function fillSoon(): void {
    if (isFilling || ready.length === 0) return;
    isFilling = true;
    setImmediate(fill);
  }

  /** Gives the free places to waiting subscriptions, all at once, so that their deliveries are claimed together. */
  function fill(): void {
    isFilling = false;
    if (isEnding) return;
    const chosen: { readonly due: DueSubscription; readonly leave: Release }[] = [];
    ready = ready.filter((due) => {
      if (busy.has(due.id)) {
        again.add(due.id);
        return false;
      }
      const leave = places.enter(due.id, due.owner);
      if (leave === undefined) return true;
      chosen.push({ due, leave });
      return false;
    });
    if (chosen.length === 0) return;
    const claims = claim(chosen.map(({ due }) => due.id));
    for (const { due, leave } of chosen) {
      const serving = serve(due, claims, leave).finally(() => {
        busy.delete(due.id);
        if (again.delete(due.id)) ready = [...ready, due];
        fillSoon();
      });
      busy.set(due.id, serving);
    }
  }

  async function look(): Promise<void> {
    do {
      lookAgain = false;
      ready = await deliveries.dueSubscriptions(now(), LOOKED_AT);
      fill();
    } while (lookAgain && !isEnding);
  }

  /** Starts a search for due deliveries; resolves when the search (not the deliveries) has ended. */
  function sweep(): Promise<void> {
    if (isEnding) return Promise.resolve();
    lookAgain = looking !== undefined;
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  /** The same, without waiting for it. */
  function wake(): void {
    sweep().catch((err: unknown) => warn(UNANSWERED, { err }));
  }

  return {
    wake,
    sweep,
    /** Stops. Deliveries that are still in progress when `signal` aborts go back to their queues unchanged. */
    async finish(signal: AbortSignal): Promise<void> {
      isEnding = true;
      const abort = () => stop.abort(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
      await looking?.catch(() => {});
      await Promise.all(busy.values());
    },
  };
}
