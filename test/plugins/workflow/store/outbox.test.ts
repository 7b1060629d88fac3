import test from 'ava';
import { eachDatabase } from '../../../support/databases.ts';
import { LONG, openOutbox, ranges } from './outbox-kit.ts';
import { OTHER_TENANT, TENANT } from './states.ts';

eachDatabase(
  test,
  'events that wait come out together, once, and are gone when they are delivered',
  async (t, fresh) => {
    const { outbox, start, add, take } = await openOutbox(t, fresh);
    const run = await add(await add(await start(2, { age: 50 }), 1), 3);
    const [entry, ...more] = await take({ limit: 10 });
    t.like(entry, {
      tenantId: TENANT,
      runId: run.id,
      fromSeq: 1,
      toSeq: 6,
      attempts: 1,
    });
    t.true(entry!.ageMs >= 50 && entry!.ageMs < LONG);
    t.deepEqual(more, []);
    t.deepEqual(await take({ limit: 10 }), []);
    await add(run, 2);
    t.deepEqual(await take({ limit: 10 }), []);
    await outbox.done(entry!);
    t.deepEqual(ranges(await take({ limit: 10 })), [[run.id, 7, 8]]);
  },
);

eachDatabase(test, 'what nobody wanted when it happened is not delivered', async (t, fresh) => {
  const { outbox, start, add, take } = await openOutbox(t, fresh);
  await start(3, { sinks: [] });
  const run = await add(await add(await start(1), 2, []), 2);
  const [first] = await take({ limit: 10 });
  t.deepEqual(ranges([first!]), [[run.id, 1, 1]]);
  await outbox.done(first!);
  t.deepEqual(ranges(await take({ limit: 10 })), [[run.id, 4, 5]]);
});

eachDatabase(test, 'an entry has a bounded number of events', async (t, fresh) => {
  const { outbox, start, add, take } = await openOutbox(t, fresh);
  const run = await add(await add(await add(await start(200), 200), 200), 700);
  const reaches = [];
  for (;;) {
    const [entry] = await take({ limit: 1 });
    if (entry === undefined) break;
    reaches.push(entry.toSeq);
    await outbox.done(entry);
  }
  t.deepEqual(reaches, [400, 600, 1300]);
  t.is(run.seq, 1300);
});

eachDatabase(test, 'tenants take turns, older first', async (t, fresh) => {
  const { start, take } = await openOutbox(t, fresh);
  const crowd = [];
  for (const age of [900, 800, 700]) crowd.push(await start(1, { age }));
  const modest = await start(1, { age: 100, tenantId: OTHER_TENANT });
  const first = await take({ limit: 2 });
  t.deepEqual(
    first.map(({ runId }) => runId),
    [crowd[0]!.id, modest.id],
  );
  const rest = await take({ limit: 9 });
  t.deepEqual(
    rest.map(({ runId }) => runId),
    [crowd[1]!.id, crowd[2]!.id],
  );
});

eachDatabase(test, 'of many who take at once each gets other entries', async (t, fresh) => {
  const { start, take } = await openOutbox(t, fresh);
  const runs = [];
  for (let n = 0; n < 20; n += 1) runs.push(await start(1));
  const taken = await Promise.all(Array.from({ length: 6 }, () => take({ limit: 20 })));
  t.deepEqual(
    taken
      .flat()
      .map(({ runId }) => runId)
      .sort(),
    runs.map(({ id }) => id).sort(),
  );
});

eachDatabase(test, 'a claim that is over, and an entry that was put off, come again', async (t, fresh) => {
  const { outbox, start, eventually, take: takeAll } = await openOutbox(t, fresh);
  const run = await start(2);
  const take = async () => (await takeAll({ limit: 1, claimMs: 200 }))[0];
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
  // Nor does it take the events away from whoever delivers them now.
  t.false(await outbox.done(first!));
  t.is(await outbox.giveUp(first!, -LONG), 0);
  let fourth: typeof first;
  await eventually(async () => {
    fourth ??= await take();
    return fourth !== undefined;
  });
  t.is(fourth?.attempts, 4);
  // A claim that is over is good for as long as nobody else has one.
  await outbox.done(fourth!);
  t.deepEqual(await takeAll({ limit: 1 }), []);
});

eachDatabase(test, 'each sink has its own turn with the events of a run', async (t, fresh) => {
  const { outbox, start, add, take } = await openOutbox(t, fresh);
  const run = await add(await start(2, { sinks: ['hooks', 'bus'] }), 1, ['bus']);
  const [hooks] = await take({ limit: 10 });
  t.deepEqual(ranges([hooks!]), [[run.id, 1, 2]]);
  const [bus] = await take({ sink: 'bus', limit: 10, claimMs: LONG });
  t.deepEqual(ranges([bus!]), [[run.id, 1, 3]]);
  await outbox.done(bus!);
  await outbox.postpone(hooks!, 0);
  t.deepEqual(await take({ sink: 'bus', limit: 10, claimMs: LONG }), []);
  t.deepEqual(ranges(await take({ limit: 10 })), [[run.id, 1, 2]]);
});

eachDatabase(
  test,
  'what nobody takes is forgotten in the end, but for the sinks that are here',
  async (t, fresh) => {
    const { outbox, start, take } = await openOutbox(t, fresh);
    const sinks = ['away', 'hooks'];
    await start(3, { age: 100_000, sinks });
    await start(2, { age: 90_000, sinks, tenantId: OTHER_TENANT });
    await start(1, { sinks });
    t.deepEqual(await outbox.forget({ olderThanMs: 200_000, here: [] }), []);
    t.deepEqual(await outbox.forget({ olderThanMs: LONG, here: ['hooks'] }), [{ sink: 'away', events: 5 }]);
    t.is((await take({ sink: 'away' })).length, 1);
    t.is((await take({ sink: 'hooks' })).length, 3);
  },
);

eachDatabase(test, 'sinks of which a replica has taken something are not away', async (t, fresh) => {
  const { outbox, start, take } = await openOutbox(t, fresh);
  await start(3, { age: 100_000 });
  await start(2, { age: 100_000 });
  const [entry] = await take({ limit: 1 });
  await outbox.postpone(entry!, 1_000);
  t.deepEqual(await outbox.forget({ olderThanMs: LONG, here: [] }), []);
});
