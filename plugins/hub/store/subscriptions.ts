import { LockMode, raw } from '@mikro-orm/core';
import { type Database, type Page, RETRY_RACES } from 'agent-gateway';
import type { HubEvent } from '../contract.ts';
import { DeliveryTable, type SubscriptionRow, SubscriptionTable } from './tables.ts';

/** Subscriptions that are read at one time. */
const PAGE = 500;

/** Subscriptions that one database of a hub has. */
export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

export function createSubscriptionStore(database: Pick<Database, 'system' | 'transaction'>) {
  return {
    find: async (id: string): Promise<SubscriptionRow | undefined> =>
      (await database.system().findOne(SubscriptionTable, { id })) ?? undefined,

    /** The subscriptions with these ids, as far as they exist. */
    findAll: async (ids: readonly string[]): Promise<readonly SubscriptionRow[]> =>
      database.system().find(SubscriptionTable, { id: { $in: [...ids] } }),

    /** Of one owner, or of all; newest first. */
    page: (owner: string | undefined, page: Page): Promise<[SubscriptionRow[], number]> =>
      database.system().findAndCount(SubscriptionTable, owner === undefined ? {} : { owner }, {
        orderBy: { createdAt: 'desc', id: 'desc' },
        ...page,
      }),

    /** All that want events of a type, page by page. */
    async *thatWant(type: HubEvent): AsyncGenerator<readonly SubscriptionRow[]> {
      for (let last = ''; ; ) {
        const rows = await database
          .system()
          .find(SubscriptionTable, { id: { $gt: last } }, { orderBy: { id: 'asc' }, limit: PAGE });
        yield rows.filter(({ events }) => events.includes(type));
        if (rows.length < PAGE) return;
        last = rows.at(-1)!.id;
      }
    },

    /**
     * Adds a subscription, unless its owner, or the hub, has reached the limit. Concurrent calls of one owner are
     * counted one after the other.
     */
    add: (
      subscription: SubscriptionRow,
      limits: { readonly ofOwner: number; readonly all: number },
    ): Promise<'added' | 'owner' | 'all'> =>
      database.transaction(async (entities) => {
        const { owner } = subscription;
        // The lock on the owner's first subscription keeps two concurrent calls from both taking the last place.
        const first = { fields: ['id'], orderBy: { createdAt: 'asc', id: 'asc' }, limit: 1 } as const;
        const lockMode = LockMode.PESSIMISTIC_WRITE;
        await entities.find(SubscriptionTable, { owner }, { ...first, lockMode });
        if ((await entities.count(SubscriptionTable, { owner })) >= limits.ofOwner) return 'owner';
        if ((await entities.count(SubscriptionTable)) >= limits.all) return 'all';
        await entities.insert(SubscriptionTable, subscription);
        return 'added';
      }, RETRY_RACES),

    /** Deletes a subscription with its deliveries. */
    remove: (id: string): Promise<void> =>
      database.transaction(async (entities) => {
        await entities.nativeDelete(SubscriptionTable, { id });
        await entities.nativeDelete(DeliveryTable, { subscriptionId: id });
      }, RETRY_RACES),

    /** Counts a delivery for each of these. */
    async noteDelivered(ids: readonly string[], at: Date): Promise<void> {
      const counted = { delivered: raw('delivered + 1'), lastAttemptAt: at, lastError: null };
      await database.transaction(
        (entities) => entities.nativeUpdate(SubscriptionTable, { id: { $in: [...ids] } }, counted),
        // Two replicas may lock the rows in different orders.
        RETRY_RACES,
      );
    },

    /** Counts an attempt that failed. */
    async noteFailed(id: string, at: Date, error: string): Promise<void> {
      const counted = { failedAttempts: raw('failed_attempts + 1'), lastAttemptAt: at, lastError: error };
      await database.system().nativeUpdate(SubscriptionTable, { id }, counted);
    },
  };
}
