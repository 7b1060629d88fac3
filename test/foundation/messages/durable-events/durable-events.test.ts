import { randomUUID } from 'node:crypto';
import test from 'ava';
import Type from 'typebox';
import { writes } from '../../../../foundation/data/database.ts';
import {
  defineDurableEvent,
  subscription,
} from '../../../../foundation/messages/durable-events/durable-events.ts';
import { eachDatabase, freshDatabase } from '../../../support/databases.ts';
import { recordStatements } from '../../../support/statements.ts';
import { settled } from '../../../support/until.ts';
import { eventually, Invoice, TENANT } from '../jobs/jobs-kit.ts';
import { left, OrderPaid, openEventReplica, QUICK } from './kit.ts';

const each = (title: string, run: Parameters<typeof eachDatabase>[2]) => eachDatabase(test, title, run);

test('a durable event is named by its plugin and what happened, and a subscription by plugin, event and name', (t) => {
  const schema = Type.Object({});
  t.is(defineDurableEvent('shop.order-paid', schema).id, 'shop.order-paid');
  for (const bad of ['', 'shop', 'Shop.paid', 'shop.', 'shop_a.paid', `shop.${'x'.repeat(60)}`])
    t.throws(() => defineDurableEvent(bad, schema), { instanceOf: TypeError });
  const of = (options: object) => subscription('billing', OrderPaid, async () => {}, options).job;
  t.is(of({}).id, 'billing.on.shop.order-paid');
  t.is(of({ name: 'mail' }).id, 'billing.on.shop.order-paid.mail');
  t.deepEqual(of({ attempts: 3 }).settings.attempts, 3);
  for (const bad of [{ name: 'A' }, { name: '' }, { attempts: 0 }, { concurrency: 0 }])
    t.throws(() => of(bad), undefined, JSON.stringify(bad));
  t.throws(() => subscription('p'.repeat(100), OrderPaid, async () => {}), {
    message: /too long to subscribe/,
  });
});

each('each subscriber gets an event once, with its tenant, and all the same one', async (t, fresh) => {
  const replica = await openEventReplica(t, fresh);
  const { database, durableEvents, subscribe } = replica;
  const got: { who: string; id: string; [more: string]: unknown }[] = [];
  for (const who of ['billing', 'mail'])
    subscribe(who, async ({ n }, { id, at, tenantId, entities, attempt, isLast }) => {
      t.true(Math.abs(Date.now() - at.getTime()) < 60_000);
      got.push({ who, n, id, tenantId, own: entities().tenantId, attempt, isLast });
    });
  await durableEvents.publish(database.forTenant(TENANT), OrderPaid, { n: 1 });
  await eventually(async () => got.length === 2 && (await left(replica)).length === 0);
  const { id } = got[0]!;
  const common = { n: 1, id, tenantId: TENANT, own: TENANT, attempt: 1, isLast: false };
  t.deepEqual(
    got.toSorted((a, b) => (a.who < b.who ? -1 : 1)),
    [
      { who: 'billing', ...common },
      { who: 'mail', ...common },
    ],
  );
  t.is((await database.schemaDrift()).trim(), '');
});

each('an event is published with the data of its transaction or not at all', async (t, fresh) => {
  const { database, durableEvents, subscribe } = await openEventReplica(t, fresh);
  const entities = database.forTenant(TENANT);
  const got: number[] = [];
  subscribe('billing', async ({ n }, context) => {
    t.is(await context.entities().count(Invoice, { n }), 1, 'its data is there');
    got.push(n);
  });
  const pay = (n: number, fails: boolean) =>
    entities.transaction(async (inside) => {
      await inside.insert(Invoice, { id: randomUUID(), n });
      await durableEvents.publish(inside, OrderPaid, { n });
      if (fails) throw new Error('undone');
    });
  await t.throwsAsync(pay(1, true), { message: 'undone' });
  await pay(2, false);
  await entities.writeTogether([
    writes.insert(Invoice, [{ id: randomUUID(), n: 3 }]),
    ...durableEvents.writes(OrderPaid, { n: 3 }),
  ]);
  await database.transaction(async (all) => {
    await all.insert(Invoice, { id: randomUUID(), tenantId: TENANT, n: 4 });
    await durableEvents.publishOf(all, TENANT, OrderPaid, { n: 4 });
  });
  await eventually(() => got.length === 3);
  await settled(() => got.length);
  t.deepEqual(got.toSorted(), [2, 3, 4]);
  await t.throwsAsync(
    durableEvents.publish(entities, OrderPaid, { n: 'one' } as never),
    { message: /shop.order-paid/ },
    'a payload that does not fit is the mistake of the publisher',
  );
});

each('without a subscriber nothing is asked of the database', async (t, fresh) => {
  const { database, durableEvents } = await openEventReplica(t, fresh);
  const statements = recordStatements(database);
  await durableEvents.publish(database.forTenant(TENANT), OrderPaid, { n: 1 });
  await durableEvents.publishOf(database.system(), TENANT, OrderPaid, { n: 1 });
  t.deepEqual(durableEvents.writes(OrderPaid, { n: 1 }), []);
  t.false(durableEvents.hasSubscribers(OrderPaid));
  t.deepEqual(statements.take(), []);
});

each(
  'a subscriber that always fails ends dead, and hinders neither another one nor the publisher',
  async (t, fresh) => {
    const replica = await openEventReplica(t, fresh);
    const { database, durableEvents, subscribe, jobs } = replica;
    const attempts: [number, boolean][] = [];
    const got: number[] = [];
    subscribe(
      'broken',
      async (_, { attempt, isLast }) => {
        attempts.push([attempt, isLast]);
        throw new Error('the bank did not answer, password=hunter2secret');
      },
      { ...QUICK, attempts: 2 },
    );
    subscribe('billing', async ({ n }) => void got.push(n));
    for (const n of [1, 2]) await durableEvents.publish(database.forTenant(TENANT), OrderPaid, { n });
    await eventually(() => got.length === 2);
    const dead = async () => (await left(replica)).filter((line) => line.endsWith(' dead'));
    await eventually(async () => (await dead()).length === 2);
    t.deepEqual(await left(replica), Array(2).fill('broken.on.shop.order-paid dead'));
    t.deepEqual(attempts.toSorted(), [
      [1, false],
      [1, false],
      [2, true],
      [2, true],
    ]);
    const { jobs: all } = await jobs.administration.list({}, { limit: 1, offset: 0 });
    t.false(all[0]?.error?.includes('hunter2secret'));
    await jobs.administration.retry(all[0]!.id);
    await eventually(() => attempts.length === 6);
    t.is(got.length, 2, 'only the one that failed is tried again');
  },
);

each(
  'a replica publishes for subscribers that only another one runs, and goes on while these are away',
  async (t, fresh) => {
    const times = { refresh: 50 };
    const publisher = await openEventReplica(t, fresh, times);
    const subscriber = await openEventReplica(t, fresh, times);
    const { durableEvents, database } = publisher;
    const entities = database.forTenant(TENANT);
    const got: number[] = [];
    const handle = async ({ n }: { n: number }) => void got.push(n);
    await durableEvents.publish(entities, OrderPaid, { n: 0 });
    const worker = subscriber.subscribe('billing', handle);
    await eventually(() => durableEvents.hasSubscribers(OrderPaid));
    await durableEvents.publish(entities, OrderPaid, { n: 1 });
    await eventually(() => got.length === 1);
    await worker.stop(1_000);
    await durableEvents.publish(entities, OrderPaid, { n: 2 });
    const later = await openEventReplica(t, fresh, times);
    t.true(later.durableEvents.hasSubscribers(OrderPaid), 'known before any plugin is set up');
    await later.durableEvents.publish(entities, OrderPaid, { n: 3 });
    t.deepEqual(await left(publisher), Array(2).fill('billing.on.shop.order-paid waiting'));
    later.subscribe('billing', handle);
    await eventually(() => got.length === 3);
    t.deepEqual(got.toSorted(), [1, 2, 3], 'what happened before it subscribed is not for it');
  },
);

each('of several replicas with one subscription one gets each event', async (t, fresh) => {
  const replicas = [await openEventReplica(t, fresh), await openEventReplica(t, fresh)];
  const got: number[] = [];
  for (const { subscribe } of replicas) subscribe('billing', async ({ n }) => void got.push(n));
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  for (const n of numbers) {
    const { durableEvents, database } = replicas[n % 2]!;
    await durableEvents.publish(database.forTenant(TENANT), OrderPaid, { n });
  }
  await eventually(() => got.length >= numbers.length);
  await settled(() => got.length);
  t.deepEqual(
    got.toSorted((a, b) => a - b),
    numbers,
  );
});

each(
  'a subscription that nobody runs for long gets nothing more, and is forgotten with what waits',
  async (t, fresh) => {
    const times = { refresh: 50, live: 500 };
    const replica = await openEventReplica(t, fresh, times);
    const { durableEvents, database, subscribe } = replica;
    const entities = database.forTenant(TENANT);
    const fail = async () => {
      throw new Error('not now');
    };
    const worker = subscribe('billing', fail, { backoff: { first: 3_600_000, most: 3_600_000 } });
    await durableEvents.publish(entities, OrderPaid, { n: 1 });
    const waits = ['billing.on.shop.order-paid scheduled'];
    await eventually(async () => `${await left(replica)}` === `${waits}`);
    await worker.stop(1_000);
    await eventually(() => !durableEvents.hasSubscribers(OrderPaid));
    await durableEvents.publish(entities, OrderPaid, { n: 2 });
    t.deepEqual(await left(replica), waits);
    await openEventReplica(t, fresh, { ...times, keep: 500 });
    await eventually(async () => (await left(replica)).length === 0);
  },
);

each('two generations of a subscription are one while they exchange', async (t, fresh) => {
  const { durableEvents, database, subscribe } = await openEventReplica(t, fresh);
  const got: string[] = [];
  const before = subscribe('billing', async ({ n }) => void got.push(`old ${n}`));
  subscribe('billing', async ({ n }) => void got.push(`new ${n}`));
  await durableEvents.publish(database.forTenant(TENANT), OrderPaid, { n: 1 });
  await eventually(() => got.length === 1);
  await before.stop(1_000);
  await durableEvents.publish(database.forTenant(TENANT), OrderPaid, { n: 2 });
  await eventually(() => got.length === 2);
  await settled(() => got.length);
  t.is(got[1], 'new 2');
});

test('postgres: replicas hear of a new subscription at once', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  // Longer than the test has patience: nothing is found by looking.
  const times = { refresh: 3_600_000 };
  const publisher = await openEventReplica(t, fresh, times);
  const subscriber = await openEventReplica(t, fresh, times);
  await eventually(() => publisher.events.isConnected && subscriber.events.isConnected);
  const got: string[] = [];
  for (const who of ['billing', 'mail']) {
    subscriber.subscribe(who, async ({ n }) => void got.push(`${who} ${n}`));
    const isKnown = () =>
      publisher.durableEvents.writes(OrderPaid, { n: 0 }).length === (who === 'mail' ? 2 : 1);
    await eventually(isKnown);
  }
  await publisher.durableEvents.publish(publisher.database.forTenant(TENANT), OrderPaid, { n: 1 });
  await eventually(() => got.length === 2);
  t.deepEqual(got.toSorted(), ['billing 1', 'mail 1']);
});
