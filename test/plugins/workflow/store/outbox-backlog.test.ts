import test from 'ava';
import type { OutboxEntry } from '../../../../plugins/workflow/services/ports/outbox.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { LONG, openOutbox, ranges } from './outbox-kit.ts';
import { eventsOf, nextOf, OTHER_TENANT, TENANT } from './states.ts';

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
