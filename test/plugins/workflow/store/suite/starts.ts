import { comparable, eventsOf, NASTY, OTHER_TENANT, runOf, stepOf, TENANT } from '../states.ts';
import type { Define } from './subject.ts';

/** Runs that are started more than once. */
export function starts(define: Define): void {
  define('a run that is created again is there, and stays as it is', async (t, { store, events }) => {
    const run = runOf({ seq: 1 }, [stepOf('a')]);
    const idempotency = { key: 'k', fingerprint: 'f' };
    const creation = { state: run, events: eventsOf(1, 1), sinks: ['hooks'], idempotency };
    t.is(await store.create(creation), 'created');
    t.is(await store.create(creation), 'exists');
    const other = { ...run, variables: { other: true }, steps: new Map([['b', stepOf('b')]]) };
    t.is(await store.create({ state: other, events: [], sinks: [] }), 'exists');
    const place = { tenantId: TENANT, runId: run.id };
    t.deepEqual(comparable(await store.read(place)), comparable(run));
    t.is((await events(place)).length, 1);
  });

  define('a known idempotency key gives the run that it began, in its tenant alone', async (t, { store }) => {
    const keys = ['', 'key', 'KEY', 'key ', 'a\0', '\ud800', 'ä'.repeat(10_000)];
    for (const key of keys) {
      const first = runOf();
      const create = (state = runOf(), fingerprint = 'other') =>
        store.create({ state, events: [], sinks: [], idempotency: { key, fingerprint } });
      t.is(await create(first, NASTY.quotes as string), 'created');
      const second = runOf({}, [stepOf('a')]);
      t.deepEqual(await create(second), { runId: first.id, fingerprint: NASTY.quotes as string });
      t.is(await store.read({ tenantId: TENANT, runId: second.id }), undefined);
      t.is(await create(runOf({ tenantId: OTHER_TENANT })), 'created');
    }
  });

  define('of many starts with one key at once, one run comes out', async (t, { store }) => {
    for (let round = 0; round < 5; round += 1) {
      const idempotency = { key: `round ${round}`, fingerprint: 'f' };
      const runs = Array.from({ length: 8 }, () => runOf({}, [stepOf('a')]));
      const answers = await Promise.all(
        runs.map((state) => store.create({ state, events: [], sinks: [], idempotency })),
      );
      const created = runs.filter((_, index) => answers[index] === 'created');
      t.is(created.length, 1);
      for (const [index, run] of runs.entries()) {
        if (run === created[0]) continue;
        t.deepEqual(answers[index], { runId: created[0]!.id, fingerprint: 'f' });
        t.is(await store.read({ tenantId: TENANT, runId: run.id }), undefined);
      }
    }
  });

  define('of many creations of one run at once, one is it', async (t, { store }) => {
    const state = runOf({}, [stepOf('a')]);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => store.create({ state, events: [], sinks: [] })),
    );
    t.deepEqual(answers.sort(), ['created', ...Array(7).fill('exists')]);
  });
}
