import test from 'ava';
import type { OutboxEntry } from '../../../../plugins/workflow/store/outbox.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { LONG, openOutbox, ranges } from './outbox-kit.ts';
import { eventsOf, nextOf, OTHER_TENANT, TENANT } from './states.ts';

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

eachDatabase(
  test,
  'what waits behind events that were put off is not read by each look',
  async (t, fresh) => {
    const { outbox, start, add, take, ready, database, tables } = await openOutbox(t, fresh);
    let run = await start(1);
    run = await add(run, 1);
    const [entry] = await take();
    run = await add(run, 1);
    t.deepEqual(await take(), []);
    t.is(await ready(), 0, 'behind a claim');
    await outbox.postpone(entry!, LONG);
    for (let n = 0; n < 80; n += 1) run = await add(run, 1);
    t.deepEqual(await take(), []);
    t.is(await ready(), 0, 'behind a pause');
    const rows = await database
      .forTenant(TENANT)
      .rows(tables.outbox, {}, { orderBy: { fromSeq: 'asc' }, limit: 100 });
    t.is(rows.length, 83);
    // Not before the first one comes again, nor much later: whoever should have made them ready may be gone.
    for (const row of rows) {
      t.true(row.nextAt >= rows[0]!.nextAt || row.fromSeq <= 3);
      t.true(row.nextAt <= rows[0]!.nextAt + 3 * LONG);
    }
  },
);

eachDatabase(
  test,
  'what was put off with the first events of a run comes out with them, and the rest is due when these are done',
  async (t, fresh) => {
    const { outbox, start, add, take, eventually } = await openOutbox(t, fresh);
    let run = await start(200);
    const [first] = await take();
    await outbox.postpone(first!, 100);
    // A gap ends an entry, and so does its size.
    run = await add(await add(run, 200), 5, []);
    run = await add(await add(run, 1), 450);
    run = await add(run, 100);
    const reaches: unknown[] = [];
    let next: OutboxEntry | undefined;
    await eventually(async () => {
      [next] = await take();
      return next !== undefined;
    });
    while (next !== undefined) {
      reaches.push([next.fromSeq, next.toSeq, next.attempts]);
      t.deepEqual(await take(), []);
      const hasMore = await outbox.done(next);
      [next] = await take();
      t.is(hasMore, next !== undefined);
    }
    t.deepEqual(reaches, [
      [1, 400, 2],
      [406, 856, 1],
      [857, 956, 1],
    ]);
  },
);

eachDatabase(
  test,
  'an entry that is given back without an attempt comes again, as if it were new',
  async (t, fresh) => {
    const { outbox, start, take, eventually } = await openOutbox(t, fresh);
    await start(2);
    const [entry] = await take();
    await outbox.giveBack(entry!, 0);
    const [again] = await take();
    t.like(again, { fromSeq: 1, toSeq: 2, attempts: 1 });
    await outbox.giveBack(again!, 100);
    t.deepEqual(await take(), []);
    let last: OutboxEntry | undefined;
    await eventually(async () => {
      [last] = await take();
      return last !== undefined;
    });
    t.is(last?.attempts, 1);
  },
);

eachDatabase(test, 'only what is old of an entry is given up, and the rest is due', async (t, fresh) => {
  const { outbox, start, add, take } = await openOutbox(t, fresh);
  const old = await start(4, { age: 3 * LONG });
  await add({ ...(await add(old, 2)), updatedAt: old.updatedAt + 3 * LONG }, 3);
  const [entry] = await take();
  t.deepEqual(ranges([entry!]), [[old.id, 1, 9]]);
  t.is(await outbox.giveUp(entry!, 10 * LONG), 0);
  t.is(await outbox.giveUp(entry!, 2 * LONG), 6);
  const [rest] = await take();
  t.like(rest, { fromSeq: 7, toSeq: 9, attempts: 1 });
  await outbox.done(rest!);
  t.deepEqual(await take(), []);
});

eachDatabase(test, 'of a tenant no more is taken than it has room', async (t, fresh) => {
  const { start, take } = await openOutbox(t, fresh);
  // More than one look reads of a tenant.
  for (let n = 0; n < 70; n += 1) await start(1, { age: 1_000 });
  const modest = [await start(1, { tenantId: OTHER_TENANT }), await start(1, { tenantId: OTHER_TENANT })];
  const asked: string[] = [];
  const room = (tenantId: string) => {
    asked.push(tenantId);
    return tenantId === TENANT ? 0 : 4;
  };
  const some = await take({ room });
  t.deepEqual(
    some.map(({ runId }) => runId),
    modest.map(({ id }) => id),
  );
  t.deepEqual(asked.sort(), [TENANT, OTHER_TENANT]);
  t.is((await take({ room: () => 3 })).length, 3);
});

eachDatabase(test, 'a tenant with much does not hold up those that come after it', async (t, fresh) => {
  const { start, take } = await openOutbox(t, fresh);
  for (let n = 0; n < 70; n += 1) await start(1, { age: 1_000 });
  const third = '00000000-0000-7000-8000-00000000000c';
  for (const tenantId of [OTHER_TENANT, third]) await start(1, { tenantId });
  const tenants = new Set<string>();
  for (let look = 0; look < 3; look += 1) {
    for (const { tenantId } of await take({ limit: 2 })) tenants.add(tenantId);
  }
  t.deepEqual([...tenants].sort(), [TENANT, OTHER_TENANT, third]);
});

eachDatabase(
  test,
  'what is committed while the events before it are under way is never left behind, and never taken beside them',
  async (t, fresh) => {
    const { store, outbox, start, take, eventually } = await openOutbox(t, fresh);
    let run = await start(1);
    const got: number[] = [];
    let isUnderWay = false;
    // Far less than a claim, or the time for which events are put off that are behind others.
    const replica = () =>
      eventually(async () => {
        for (
          let [entry] = await take({ limit: 1 });
          entry !== undefined;
          [entry] = await take({ limit: 1 })
        ) {
          t.false(isUnderWay);
          isUnderWay = true;
          for (let seq = entry.fromSeq; seq <= entry.toSeq; seq += 1) got.push(seq);
          await new Promise((resolve) => setImmediate(resolve));
          isUnderWay = false;
          await outbox.done(entry);
        }
        return got.length >= 60;
      });
    const replicas = [replica(), replica(), replica()];
    for (let n = 1; n < 60; n += 1) {
      const after = nextOf(run, { seq: run.seq + 1 });
      t.true(await store.commit({ before: run, after, events: eventsOf(run.seq + 1, 1), sinks: ['hooks'] }));
      run = after;
    }
    await Promise.all(replicas);
    t.deepEqual(
      got,
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  },
);

eachDatabase(test, 'events come out after the clock was set back', async (t, fresh) => {
  const { database, tables, outbox, start, add, take, now } = await openOutbox(t, fresh);
  const run = await start(2);
  t.is((await take()).length, 1);
  await add(run, 1);
  t.deepEqual(await take(), []);
  const ahead = { nextAt: now + 40 * 24 * 3_600_000 };
  await database.system().nativeUpdate(tables.outbox, { runId: run.id }, ahead);
  t.deepEqual(await take(), []);
  await outbox.forget({ olderThanMs: LONG, here: ['hooks'] });
  t.deepEqual(ranges(await take()), [[run.id, 1, 3]]);
});
