import test, { type ExecutionContext } from 'ava';
import type { RunState } from '../../../../plugins/workflow/services/core/run-state.ts';
import { createOutbox } from '../../../../plugins/workflow/store/outbox.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { eventsOf, nextOf, OTHER_TENANT, runOf, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

const LONG = 60_000;

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  const store = createRunStore(kit);
  const outbox = createOutbox(kit);
  const now = await store.now();
  const start = async (count: number, { tenantId = TENANT, age = 0, sinks = ['hooks'] } = {}) => {
    const state = runOf({ tenantId, seq: count, updatedAt: now - age });
    await store.create({ state, events: eventsOf(1, count), sinks });
    return state;
  };
  const add = async (before: RunState, count: number, sinks = ['hooks']) => {
    const after = nextOf(before, { seq: before.seq + count, updatedAt: before.updatedAt });
    t.true(await store.commit({ before, after, events: eventsOf(before.seq + 1, count), sinks }));
    return after;
  };
  return { ...kit, store, outbox, start, add, now };
}

const ranges = (entries: readonly { runId: string; fromSeq: number; toSeq: number }[]) =>
  entries.map(({ runId, fromSeq, toSeq }) => [runId, fromSeq, toSeq]);

eachDatabase(
  test,
  'events that wait come out together, once, and are gone when they are delivered',
  async (t, fresh) => {
    const { outbox, start, add, now } = await open(t, fresh);
    const run = await add(await add(await start(2, { age: 50 }), 1), 3);
    const [entry, ...more] = await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG });
    t.like(entry, {
      tenantId: TENANT,
      runId: run.id,
      fromSeq: 1,
      toSeq: 6,
      createdAt: now - 50,
      attempts: 1,
    });
    t.deepEqual(more, []);
    t.deepEqual(await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG }), []);
    await add(run, 2);
    t.deepEqual(await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG }), []);
    await outbox.done(entry!);
    t.deepEqual(ranges(await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG })), [[run.id, 7, 8]]);
  },
);

eachDatabase(test, 'what nobody wanted when it happened is not delivered', async (t, fresh) => {
  const { outbox, start, add } = await open(t, fresh);
  await start(3, { sinks: [] });
  const run = await add(await add(await start(1), 2, []), 2);
  const [first] = await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG });
  t.deepEqual(ranges([first!]), [[run.id, 1, 1]]);
  await outbox.done(first!);
  t.deepEqual(ranges(await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG })), [[run.id, 4, 5]]);
});

eachDatabase(test, 'an entry has a bounded number of events', async (t, fresh) => {
  const { outbox, start, add } = await open(t, fresh);
  const run = await add(await add(await add(await start(200), 200), 200), 700);
  const reaches = [];
  for (;;) {
    const [entry] = await outbox.take({ sink: 'hooks', limit: 1, claimMs: LONG });
    if (entry === undefined) break;
    reaches.push(entry.toSeq);
    await outbox.done(entry);
  }
  t.deepEqual(reaches, [400, 600, 1300]);
  t.is(run.seq, 1300);
});

eachDatabase(test, 'tenants take turns, older first', async (t, fresh) => {
  const { outbox, start } = await open(t, fresh);
  const crowd = [];
  for (const age of [900, 800, 700]) crowd.push(await start(1, { age }));
  const modest = await start(1, { age: 100, tenantId: OTHER_TENANT });
  const first = await outbox.take({ sink: 'hooks', limit: 2, claimMs: LONG });
  t.deepEqual(
    first.map(({ runId }) => runId),
    [crowd[0]!.id, modest.id],
  );
  const rest = await outbox.take({ sink: 'hooks', limit: 9, claimMs: LONG });
  t.deepEqual(
    rest.map(({ runId }) => runId),
    [crowd[1]!.id, crowd[2]!.id],
  );
});

eachDatabase(test, 'of many who take at once each gets other entries', async (t, fresh) => {
  const { outbox, start } = await open(t, fresh);
  const runs = [];
  for (let n = 0; n < 20; n += 1) runs.push(await start(1));
  const taken = await Promise.all(
    Array.from({ length: 6 }, () => outbox.take({ sink: 'hooks', limit: 20, claimMs: LONG })),
  );
  t.deepEqual(
    taken
      .flat()
      .map(({ runId }) => runId)
      .sort(),
    runs.map(({ id }) => id).sort(),
  );
});

eachDatabase(test, 'a claim that is over, and an entry that was put off, come again', async (t, fresh) => {
  const { outbox, start, eventually } = await open(t, fresh);
  const run = await start(2);
  const take = async () => (await outbox.take({ sink: 'hooks', limit: 1, claimMs: 200 }))[0];
  const first = await take();
  let second: typeof first;
  await eventually(async () => {
    second ??= await take();
    return second !== undefined;
  });
  t.like(second, { runId: run.id, fromSeq: 1, toSeq: 2, attempts: 2 });
  // The first one's claim is over: it no longer decides.
  await outbox.postpone(first!, LONG);
  await outbox.postpone(second!, 100);
  let third: typeof first;
  await eventually(async () => {
    third ??= await take();
    return third !== undefined;
  });
  t.is(third?.attempts, 3);
  // What the first one delivered nevertheless is delivered.
  await outbox.done(first!);
  t.deepEqual(await outbox.take({ sink: 'hooks', limit: 1, claimMs: 0 }), []);
});

eachDatabase(test, 'each sink has its own turn with the events of a run', async (t, fresh) => {
  const { outbox, start, add } = await open(t, fresh);
  const run = await add(await start(2, { sinks: ['hooks', 'bus'] }), 1, ['bus']);
  const [hooks] = await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG });
  t.deepEqual(ranges([hooks!]), [[run.id, 1, 2]]);
  const [bus] = await outbox.take({ sink: 'bus', limit: 10, claimMs: LONG });
  t.deepEqual(ranges([bus!]), [[run.id, 1, 3]]);
  await outbox.done(bus!);
  await outbox.postpone(hooks!, 0);
  t.deepEqual(await outbox.take({ sink: 'bus', limit: 10, claimMs: LONG }), []);
  t.deepEqual(ranges(await outbox.take({ sink: 'hooks', limit: 10, claimMs: LONG })), [[run.id, 1, 2]]);
});

eachDatabase(
  test,
  'what nobody takes is forgotten in the end, but for the sinks that are here',
  async (t, fresh) => {
    const { outbox, start } = await open(t, fresh);
    const sinks = ['away', 'hooks'];
    await start(3, { age: 100_000, sinks });
    await start(2, { age: 90_000, sinks, tenantId: OTHER_TENANT });
    await start(1, { sinks });
    t.deepEqual(await outbox.forget({ dueForMs: 200_000, here: [] }), []);
    t.deepEqual(await outbox.forget({ dueForMs: LONG, here: ['hooks'] }), [{ sink: 'away', events: 5 }]);
    t.is((await outbox.take({ sink: 'away', limit: 10, claimMs: 0 })).length, 1);
    t.is((await outbox.take({ sink: 'hooks', limit: 10, claimMs: 0 })).length, 3);
  },
);
