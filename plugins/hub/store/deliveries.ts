import { raw } from '@mikro-orm/core';
import { type Database, eraseExpired, type Page, RETRY_RACES } from 'agent-gateway';
import { isNew } from './is-new.ts';
import {
  type DeliveryRow,
  DeliveryTable,
  type EventRow,
  EventTable,
  type SubscriptionRow,
} from './tables.ts';

/** Rows of one statement: few enough for the parameter limit of every database family. */
const BATCH = 500;
/** Marks a delivery as unclaimed: any time in the past. */
const UNCLAIMED = new Date(0);

/** A delivery that failed for the last time, with its event. */
export type DeadLetter = DeliveryRow & { readonly event: EventRow | undefined };

/** A subscription with something that is due, and its owner; this gateway's own queue is its own owner. */
export type DueSubscription = Pick<SubscriptionRow, 'id' | 'owner'>;

/** How many deliveries of a subscription wait, and how many are dead. */
export interface DeliveryCounts {
  readonly waiting: number;
  readonly dead: number;
}

/** The deliveries in one database of a hub. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

export function createDeliveryStore(database: Pick<Database, 'system' | 'transaction' | 'eraseOfAll'>) {
  const em = () => database.system();

  return {
    /** Accepts an event with all of its deliveries, or nothing. False for an event that was accepted before. */
    accept: (event: EventRow, deliveries: readonly DeliveryRow[]): Promise<boolean> =>
      isNew(
        database.transaction(async (entities) => {
          await entities.insert(EventTable, event);
          for (let at = 0; at < deliveries.length; at += BATCH)
            await entities.insertMany(DeliveryTable, deliveries.slice(at, at + BATCH));
        }),
      ),

    event: async (id: string): Promise<EventRow | undefined> =>
      (await em().findOne(EventTable, { id })) ?? undefined,

    /** Subscriptions with something that is due, those that have waited longest first. */
    async dueSubscriptions(now: Date, limit: number): Promise<readonly DueSubscription[]> {
      const owner = '(select s.owner from hub_subscriptions s where s.id = due.subscription_id)';
      const rows = await em()
        .createQueryBuilder(DeliveryTable, 'due')
        .select(['subscriptionId', raw(`${owner} as owner`)])
        .where({ state: 'waiting', dueAt: { $lte: now }, claimedUntil: { $lte: now } })
        .groupBy('subscriptionId')
        .orderBy({ [raw('min(due.due_at)')]: 'asc' })
        .limit(limit)
        .execute<{ subscriptionId: string; owner: string | null }[]>('all');
      return rows.map((row) => ({ id: row.subscriptionId, owner: row.owner ?? row.subscriptionId }));
    },

    /**
     * Claims the oldest due delivery of each of these subscriptions for the caller until a time; `ticket` is unique to
     * this call. A subscription is absent where nothing is due, or another process has a delivery of it in progress;
     * `leftOut` are those that the query's limit has left out.
     */
    async claim(subscriptionIds: readonly string[], now: Date, until: Date, ticket: string) {
      const isDue = { state: 'waiting' as const, dueAt: { $lte: now } };
      const limit = 2 * subscriptionIds.length;
      const due = await em().find(
        DeliveryTable,
        { ...isDue, subscriptionId: { $in: [...subscriptionIds] } },
        { fields: ['id', 'subscriptionId', 'claimedUntil'], orderBy: { dueAt: 'asc', id: 'asc' }, limit },
      );
      // What another process has in progress is the oldest: where that is claimed, the next one has to wait for its
      // end.
      const bySubscription = Map.groupBy(due, ({ subscriptionId }) => subscriptionId);
      const isWhole = due.length < limit;
      const leftOut = isWhole ? [] : subscriptionIds.filter((id) => !bySubscription.has(id));
      const ids = [...bySubscription.values()].flatMap((rows) =>
        rows.some(({ claimedUntil }) => claimedUntil > now) ? [] : rows[0]!.id,
      );
      if (ids.length === 0) return { claims: [], leftOut };
      await database.transaction(
        (entities) =>
          entities.nativeUpdate(
            DeliveryTable,
            { ...isDue, claimedUntil: { $lte: now }, id: { $in: ids } },
            { ticket, claimedUntil: until },
          ),
        // Two replicas may lock the rows in different orders.
        RETRY_RACES,
      );
      // Of several concurrent callers, each has claimed the rows with its own ticket.
      const claimed = await em().find(DeliveryTable, { id: { $in: ids }, ticket });
      const claims = claimed.map((delivery) => ({
        delivery,
        hasMore: bySubscription.get(delivery.subscriptionId)!.length > 1 || !isWhole,
      }));
      return { claims, leftOut };
    },

    /** Deletes deliveries that were completed. */
    async done(arrived: readonly Pick<DeliveryRow, 'id' | 'ticket'>[]): Promise<void> {
      const [ids, tickets] = [arrived.map(({ id }) => id), arrived.map(({ ticket }) => ticket)];
      const where = { id: { $in: ids }, ticket: { $in: [...new Set(tickets)] } };
      await database.transaction((entities) => entities.nativeDelete(DeliveryTable, where), RETRY_RACES);
    },

    /** Records a failed attempt: the next one is at `dueAt`, or the delivery is dead since then. */
    async failed(
      { id, ticket, attempts }: Pick<DeliveryRow, 'id' | 'ticket' | 'attempts'>,
      reason: string,
      next: Pick<DeliveryRow, 'state' | 'dueAt'>,
    ): Promise<void> {
      const columns = { ...next, reason, attempts: attempts + 1, claimedUntil: UNCLAIMED };
      await em().nativeUpdate(DeliveryTable, { id, ticket }, columns);
    },

    /** Gives up the claim without counting an attempt: it is unknown whether the attempt arrived. */
    async release({ id, ticket }: Pick<DeliveryRow, 'id' | 'ticket'>): Promise<void> {
      await em().nativeUpdate(DeliveryTable, { id, ticket }, { claimedUntil: UNCLAIMED });
    },

    /**
     * Gives up all claims. Only for a database that no other process uses: the claims are those of an earlier process.
     */
    async releaseAll(): Promise<void> {
      await em().nativeUpdate(DeliveryTable, { state: 'waiting' }, { claimedUntil: UNCLAIMED });
    },

    /** Dead letters of a subscription, the newest first, and their number. */
    async deadLetters(subscriptionId: string, page: Page): Promise<[readonly DeadLetter[], number]> {
      const where = { subscriptionId, state: 'dead' as const };
      const [rows, total] = await em().findAndCount(DeliveryTable, where, {
        orderBy: { createdAt: 'desc', id: 'desc' },
        ...page,
      });
      const events =
        rows.length === 0
          ? []
          : await em().find(EventTable, { id: { $in: [...new Set(rows.map(({ eventId }) => eventId))] } });
      const byId = new Map(events.map((event) => [event.id, event]));
      return [rows.map((row) => ({ ...row, event: byId.get(row.eventId) })), total];
    },

    /**
     * Queues a dead letter again, with all of its attempts. Without `id`: all of the subscription. Returns their
     * number.
     */
    async revive(subscriptionId: string, id: string | undefined, now: Date): Promise<number> {
      return em().nativeUpdate(
        DeliveryTable,
        { subscriptionId, state: 'dead', ...(id === undefined ? {} : { id }) },
        { state: 'waiting', attempts: 0, dueAt: now, claimedUntil: UNCLAIMED },
      );
    },

    /**
     * The numbers of waiting and dead deliveries of each of these subscriptions; a subscription without any is absent.
     */
    async counts(subscriptionIds: readonly string[]): Promise<ReadonlyMap<string, DeliveryCounts>> {
      const found = new Map<string, DeliveryCounts>();
      if (subscriptionIds.length === 0) return found;
      const rows = await em()
        .createQueryBuilder(DeliveryTable, 'd')
        .select(['subscriptionId', 'state', raw('count(*) as ??', ['rows'])])
        .where({ subscriptionId: { $in: [...subscriptionIds] } })
        .groupBy(['subscriptionId', 'state'])
        .execute<{ subscriptionId: string; state: 'waiting' | 'dead'; rows: number | string }[]>('all');
      for (const { subscriptionId, state, rows: count } of rows) {
        const before = found.get(subscriptionId) ?? { waiting: 0, dead: 0 };
        found.set(subscriptionId, { ...before, [state]: Number(count) });
      }
      return found;
    },

    /** Whether so many deliveries wait in all: otherwise no subscription has so many, which is cheaper to know. */
    async waitAtLeast(most: number): Promise<boolean> {
      const query = { fields: ['id'], limit: 1, offset: most - 1 } as const;
      return (await em().find(DeliveryTable, { state: 'waiting' }, query)).length > 0;
    },

    /** Those of these subscriptions with so many waiting deliveries that no more are accepted. */
    async full(subscriptionIds: readonly string[], most: number): Promise<ReadonlySet<string>> {
      if (subscriptionIds.length === 0) return new Set();
      const rows = await em()
        .createQueryBuilder(DeliveryTable, 'd')
        .select(['subscriptionId'])
        .where({ state: 'waiting', subscriptionId: { $in: [...subscriptionIds] } })
        .groupBy('subscriptionId')
        .having('count(*) >= ?', [most])
        .execute<{ subscriptionId: string }[]>('all');
      return new Set(rows.map(({ subscriptionId }) => subscriptionId));
    },

    /**
     * Deletes old dead letters, and old events to which no delivery refers any more: they are older than all
     * deliveries, each of which is as old as its event. The signal ends it early.
     */
    async expire(deadBefore: Date, eventsBefore: Date, signal: AbortSignal): Promise<void> {
      const dead = { state: 'dead' as const, dueAt: { $lt: deadBefore } };
      await eraseExpired(database, DeliveryTable, dead, signal);
      const query = { fields: ['createdAt'], orderBy: { createdAt: 'asc' }, limit: 1 } as const;
      const [oldest] = await em().find(DeliveryTable, {}, query);
      const before =
        oldest !== undefined && oldest.createdAt < eventsBefore ? oldest.createdAt : eventsBefore;
      await eraseExpired(database, EventTable, { createdAt: { $lt: before } }, signal);
    },
  };
}
