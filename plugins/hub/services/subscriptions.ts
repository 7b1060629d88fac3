import { type Clock, DEFAULT_TENANT_ID, type Egress, type Ids, type Page } from 'agent-gateway';
import type { HubEvent } from '../contract.ts';
import type { DeliveryCounts, DeliveryStore } from '../store/deliveries.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';
import type { SubscriptionRow } from '../store/tables.ts';
import { HubErrors } from './errors.ts';
import { OWN } from './events.ts';
import type { Keys } from './keys.ts';

/** Subscriptions of one owner (decisions 3.6), and of all. */
const MAX_OF_OWNER = 1_000;
const MAX = 10_000;

/** The subscription that a subscriber asks for. */
export interface Wanted {
  readonly callbackUrl: string;
  readonly events: readonly HubEvent[];
  readonly minConfidence: number | undefined;
}

/** The subscriptions that a caller reaches: an owner's own, or, for operators, all. */
export type Reach = { readonly owner: string } | 'all';

/** A subscription with the counts of its deliveries. */
export type Shown = SubscriptionRow & { readonly counts: DeliveryCounts };

const NOTHING: DeliveryCounts = { waiting: 0, dead: 0 };

/** The subscriptions of owners. */
export function createSubscriptions(parts: {
  readonly store: SubscriptionStore;
  readonly deliveries: Pick<DeliveryStore, 'counts' | 'deadLetters' | 'revive'>;
  readonly keys: Pick<Keys, 'current'>;
  readonly egress: Pick<Egress, 'check'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly wake: () => void;
  readonly changed: () => void;
}) {
  const { store, deliveries, keys, egress, clock, ids, wake, changed } = parts;

  async function find(reach: Reach, id: string): Promise<SubscriptionRow> {
    const found = await store.find(id);
    if (found === undefined || (reach !== 'all' && reach.owner !== found.owner))
      throw HubErrors.subscriptionNotFound();
    return found;
  }

  /** Throws unless the caller may reach the queue: that of this gateway itself is for operators alone. */
  async function requireQueue(reach: Reach, id: string): Promise<void> {
    if (reach !== 'all' || id !== OWN) await find(reach, id);
  }

  async function shown(rows: readonly SubscriptionRow[]): Promise<readonly Shown[]> {
    const counts = await deliveries.counts(rows.map(({ id }) => id));
    return Promise.all(
      rows.map(async (row) => ({
        ...row,
        // After a rotation the key in use replaces a key that is no longer published.
        signingKeyId: (await keys.current(row.signingKeyId)).id,
        counts: counts.get(row.id) ?? NOTHING,
      })),
    );
  }

  return {
    /** @throws egress.denied, hub.too-many-subscriptions */
    async add(owner: string, { callbackUrl, events, minConfidence }: Wanted): Promise<Shown> {
      await egress.check(DEFAULT_TENANT_ID, callbackUrl);
      const subscription: SubscriptionRow = {
        id: ids.uuid(),
        owner,
        callbackUrl,
        events: [...new Set(events)],
        minConfidence: minConfidence ?? null,
        signingKeyId: (await keys.current()).id,
        delivered: 0,
        failedAttempts: 0,
        lastAttemptAt: null,
        lastError: null,
        createdAt: new Date(clock.now()),
      };
      const added = await store.add(subscription, { ofOwner: MAX_OF_OWNER, all: MAX });
      if (added === 'owner')
        throw HubErrors.tooManySubscriptions(`An owner has ${MAX_OF_OWNER} of them at most`);
      if (added === 'all') throw HubErrors.tooManySubscriptions();
      changed();
      return { ...subscription, counts: NOTHING };
    },

    async list(reach: Reach, page: Page): Promise<[readonly Shown[], number]> {
      const [rows, total] = await store.page(reach === 'all' ? undefined : reach.owner, page);
      return [await shown(rows), total];
    },

    /** @throws hub.subscription-not-found */
    async get(reach: Reach, id: string): Promise<Shown> {
      return (await shown([await find(reach, id)]))[0]!;
    },

    /** Removes it with its deliveries. @throws hub.subscription-not-found */
    async remove(reach: Reach, id: string): Promise<void> {
      await find(reach, id);
      await store.remove(id);
      changed();
    },

    /** @throws hub.subscription-not-found */
    async deadLetters(reach: Reach, id: string, page: Page) {
      await requireQueue(reach, id);
      return deliveries.deadLetters(id, page);
    },

    /**
     * Queues one dead letter, or all, again. Returns their number. @throws hub.subscription-not-found,
     * hub.dead-letter-not-found
     */
    async revive(reach: Reach, id: string, letter: string | undefined): Promise<number> {
      await requireQueue(reach, id);
      const revived = await deliveries.revive(id, letter, new Date(clock.now()));
      if (letter !== undefined && revived === 0) throw HubErrors.deadLetterNotFound();
      wake();
      changed();
      return revived;
    },
  };
}
