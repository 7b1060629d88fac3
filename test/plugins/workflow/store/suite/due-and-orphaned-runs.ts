import { nextOf, OTHER_TENANT, runOf, TENANT } from '../states.ts';
import type { Define } from './subject.ts';

const THIRD_TENANT = '00000000-0000-7000-8000-00000000000c';

/** What is there to be done. */
export function dueAndOrphanedRuns(define: Define): void {
  define('due runs come in turns of their tenants, older first', async (t, subject) => {
    const { store } = subject;
    const now = await subject.now();
    const start = async (tenantId: string, wakeAt: number | null) => {
      const run = runOf({ tenantId, wakeAt });
      await store.create({ state: run, events: [], sinks: [] });
      return { tenantId, runId: run.id };
    };
    const crowd = [];
    for (const age of [900, 800, 700, 600, 500]) crowd.push(await start(TENANT, now - age));
    const modest = await start(OTHER_TENANT, now - 100);
    const third = [await start(THIRD_TENANT, now - 300), await start(THIRD_TENANT, now - 200)];
    await start(TENANT, now + 60_000);
    await start(OTHER_TENANT, null);
    const fair = [crowd[0], third[0], modest, crowd[1], third[1], crowd[2], crowd[3], crowd[4]];
    t.deepEqual(await store.due(100), fair as never);
    t.deepEqual(await store.due(4), fair.slice(0, 4) as never);
    t.deepEqual(await store.due(0), []);
  });

  define('a run is due when its time has come, and no more after a commit', async (t, subject) => {
    const { store } = subject;
    const now = await subject.now();
    const state = runOf({ wakeAt: now + 2_000 });
    await store.create({ state, events: [], sinks: [] });
    t.deepEqual(await store.due(10), []);
    await subject.eventually(async () => (await store.due(10)).length === 1);
    t.true((await subject.now()) >= now + 2_000);
    const after = nextOf(state, { wakeAt: null });
    t.true(await store.commit({ before: state, after, events: [], sinks: [] }));
    t.deepEqual(await store.due(10), []);
  });

  define('who owns runs is told which, over all tenants, with their revisions', async (t, { store }) => {
    const mine = [runOf({ owner: 'w1' }), runOf({ owner: 'w1', tenantId: OTHER_TENANT, revision: 4 })];
    for (const state of [...mine, runOf({ owner: 'w2' }), runOf()]) {
      await store.create({ state, events: [], sinks: [] });
    }
    const expected = mine.map(({ tenantId, id, revision }) => ({ tenantId, runId: id, revision }));
    const byId = (a: { runId: string }, b: { runId: string }) => (a.runId < b.runId ? -1 : 1);
    t.deepEqual([...(await store.owned('w1'))].sort(byId), expected.sort(byId));
    const [first] = mine as [(typeof mine)[0]];
    await store.commit({
      before: first,
      after: nextOf(first, { owner: null }),
      events: [],
      sinks: [],
    });
    t.is((await store.owned('w1')).length, 1);
    t.deepEqual(await store.owned('nobody'), []);
  });
}
