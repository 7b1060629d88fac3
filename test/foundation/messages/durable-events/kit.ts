import type { ExecutionContext } from 'ava';
import Type from 'typebox';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import {
  type DurableEventHandler,
  defineDurableEvent,
  type SubscribeOptions,
  subscription,
} from '../../../../foundation/messages/durable-events/durable-events.ts';
import { openDurableEvents } from '../../../../foundation/messages/durable-events/open-durable-events.ts';
import { subscriptionRegistration } from '../../../../foundation/messages/durable-events/subscription-table.ts';
import type { SubscriptionTimes } from '../../../../foundation/messages/durable-events/subscriptions.ts';
import type { FreshDatabase } from '../../../support/databases.ts';
import { openReplica } from '../jobs/jobs-kit.ts';

export const OrderPaid = defineDurableEvent('shop.order-paid', Type.Object({ n: Type.Integer() }));

export type Paid = DurableEventHandler<{ n: number }>;

/** Attempts follow each other at once. */
export const QUICK = { backoff: { first: 5, most: 20 } };

/** A replica with durable events; it ends with the test. */
export async function openEventReplica(
  t: ExecutionContext,
  fresh: FreshDatabase,
  times: Partial<SubscriptionTimes> = {},
) {
  const replica = await openReplica(t, fresh, { times: { lease: 1_000, sweep: 100 } });
  const { database, jobs, events, lines } = replica;
  await database.register(subscriptionRegistration);
  const log = { warn: (line: unknown) => lines.push(line) } as never;
  const common = { database, jobs, events, clock: systemClock, ids: createIds(systemClock), log };
  const durableEvents = await openDurableEvents({ ...common, times });
  t.teardown(() => durableEvents.close());
  const subscribe = (plugin: string, handle: Paid, options: SubscribeOptions = QUICK) =>
    durableEvents.subscribe(subscription(plugin, OrderPaid, handle, options));
  return { ...replica, durableEvents, subscribe };
}

export type EventReplica = Awaited<ReturnType<typeof openEventReplica>>;

/** Jobs that are there, by queue and state. */
export async function left({ jobs }: Pick<EventReplica, 'jobs'>): Promise<readonly string[]> {
  const { jobs: all } = await jobs.administration.list({}, { limit: 200, offset: 0 });
  return all.map(({ queue, state }) => `${queue} ${state}`).sort();
}
