import { comparable, eventsOf, nextOf, OTHER_TENANT, runOf, stepOf, TENANT } from '../states.ts';
import type { Define } from './subject.ts';

/** Of several who change one state of a run, one can store it. */
export function guardedCommits(define: Define): void {
  define(
    'of commits on one state of a run, one wins, and nothing is left of the others',
    async (t, subject) => {
      const { store, events } = subject;
      let state = runOf({}, [stepOf('a')]);
      await store.create({ state, events: [], sinks: [] });
      for (let round = 0; round < 5; round += 1) {
        const before = state;
        const commits = Array.from({ length: 8 }, (_, n) => {
          const steps = [{ ...before.steps.get('a')!, output: { n } }, stepOf(`r${round}n${n}`)];
          return nextOf(before, { seq: before.seq + 2, variables: { n } }, steps);
        });
        const stored = await Promise.all(
          commits.map((after, n) =>
            store.commit({ before, after, events: eventsOf(before.seq + 1, 2, { n }), sinks: ['hooks'] }),
          ),
        );
        t.is(stored.filter(Boolean).length, 1);
        const n = stored.indexOf(true);
        state = commits[n]!;
        const place = { tenantId: TENANT, runId: state.id };
        t.deepEqual(comparable(await store.read(place)), comparable(state));
        const newest = (await events(place)).slice(before.seq);
        t.deepEqual(
          newest.map(({ data }) => data),
          [{ n }, { n }],
        );
      }
    },
  );

  define('a commit on a state that is over stores nothing', async (t, { store }) => {
    const first = runOf({}, [stepOf('a')]);
    await store.create({ state: first, events: [], sinks: [] });
    const second = nextOf(first, { status: 'waiting' });
    t.true(await store.commit({ before: first, after: second, events: [], sinks: [] }));
    const late = nextOf(first, { status: 'cancelled' }, [{ ...first.steps.get('a')!, status: 'cancelled' }]);
    t.false(await store.commit({ before: first, after: late, events: eventsOf(1, 3), sinks: ['hooks'] }));
    const place = { tenantId: TENANT, runId: first.id };
    t.deepEqual(comparable(await store.read(place)), comparable(second));
  });

  define(
    'a commit on a run that is not there, or not of the tenant, stores nothing',
    async (t, { store }) => {
      const run = runOf();
      const commit = (before = run) =>
        store.commit({
          before,
          after: nextOf(before, { status: 'cancelled' }, [stepOf('a')]),
          events: eventsOf(1, 1),
          sinks: [],
        });
      t.false(await commit());
      await store.create({ state: run, events: [], sinks: [] });
      t.false(await commit({ ...run, tenantId: OTHER_TENANT }));
      t.deepEqual(comparable(await store.read({ tenantId: TENANT, runId: run.id })), comparable(run));
      t.true(await commit());
    },
  );

  define('a hundred runs are changed at once', async (t, { store }) => {
    const runs = Array.from({ length: 100 }, (_, n) =>
      runOf({ tenantId: n % 2 === 0 ? TENANT : OTHER_TENANT }, [stepOf('a')]),
    );
    await Promise.all(runs.map((state) => store.create({ state, events: [], sinks: [] })));
    const states = await Promise.all(
      runs.map(async (run, n) => {
        let state = run;
        for (let round = 0; round < 3; round += 1) {
          const changed = { ...state.steps.get('a')!, output: { n, round } };
          const after = nextOf(state, { seq: state.seq + 2 }, [changed, stepOf(`b${round}`)]);
          const events = eventsOf(state.seq + 1, 2);
          t.true(await store.commit({ before: state, after, events, sinks: ['hooks'] }));
          state = after;
        }
        return state;
      }),
    );
    for (const state of states) {
      const found = await store.read({ tenantId: state.tenantId, runId: state.id });
      t.deepEqual(comparable(found), comparable(state));
    }
  });
}
