import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import type { JsonObject } from '../../../../../plugins/workflow/contract.ts';
import type { StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';
import {
  comparable,
  eventsOf,
  NASTY,
  nested,
  nextOf,
  OTHER_TENANT,
  runOf,
  stepOf,
  TENANT,
} from '../states.ts';
import type { Define } from './subject.ts';

/** What is stored comes back as it was. */
export function keptRuns(define: Define): void {
  define('a run comes back as it was created, whatever is in it', async (t, { store, events }) => {
    const step = stepOf('a', {
      nodeName: 'nul \0 half \ud800',
      assignee: 'role:\0',
      outcome: '\udc00',
      input: NASTY,
      output: nested(500),
      error: { code: 'x', message: 'a\0', node: 'a' },
      taken: [0, 2],
      readyAt: 1,
      dueAt: 2 ** 52,
      lost: 2,
      completion: { by: 'user-1', payload: NASTY },
      startedAt: 3,
      completedAt: 4,
      delivery: 3,
      attempt: 2,
    });
    const run = runOf(
      {
        input: NASTY,
        variables: nested(500),
        error: { code: 'paused', message: '\ud800' },
        status: 'paused',
        owner: 'worker-1',
        wakeAt: 5,
        completedAt: 6,
        seq: 2,
        version: 7,
      },
      [step, stepOf('b')],
    );
    const written = eventsOf(1, 2, NASTY);
    t.is(await store.create({ state: run, events: written, sinks: [] }), 'created');
    const found = await store.read({ tenantId: TENANT, runId: run.id });
    t.deepEqual(comparable(found), comparable(run));
    t.is(JSON.stringify(found?.input), JSON.stringify(NASTY));
    t.true(Object.hasOwn(found!.input, '__proto__'));
    t.deepEqual(await events({ tenantId: TENANT, runId: run.id }), written);
  });

  define('a run and its steps are there for their tenant alone', async (t, { store }) => {
    const step = stepOf('a');
    const run = runOf({}, [step]);
    await store.create({ state: run, events: [], sinks: [] });
    t.is(await store.read({ tenantId: OTHER_TENANT, runId: run.id }), undefined);
    for (const runId of ['', 'a\0b', '\ud800', `' or 1=1 --`])
      t.is(await store.read({ tenantId: TENANT, runId }), undefined);
  });

  define('steps that are large together are stored together', async (t, { store }) => {
    const before = runOf();
    await store.create({ state: before, events: [], sinks: [] });
    const text = 'x'.repeat(1_000_000);
    const steps = Array.from({ length: 18 }, (_, n) => stepOf(`n${n}`, { input: { text, n } }));
    const after = nextOf(before, {}, steps);
    t.true(await store.commit({ before, after, events: [], sinks: [] }));
    const found = await store.read({ tenantId: TENANT, runId: before.id });
    t.is(found?.steps.size, 18);
    t.true(steps.every(({ nodeId, input }) => found?.steps.get(nodeId)?.input?.n === input?.n));
    t.true([...found!.steps.values()].every(({ input }) => input?.text === text));
  });

  define('after any number of commits a run is what the last one said', async (t, { store, events }) => {
    // Written out and read again: -0 is not told from 0 in JSON text.
    const json = fc
      .dictionary(fc.string({ unit: anyCodePoint }), fc.jsonValue(), { maxKeys: 3 })
      .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
    const time = fc.option(fc.integer({ min: 0, max: 2 ** 45 }), { nil: null });
    const changes = fc.record(
      {
        status: fc.constantFrom('pending', 'running', 'waiting', 'completed'),
        attempt: fc.nat(10),
        delivery: fc.nat(10),
        lost: fc.nat(3),
        readyAt: time,
        dueAt: time,
        startedAt: time,
        completedAt: time,
        input: fc.option(json),
        output: fc.option(json),
        outcome: fc.option(fc.string({ unit: anyCodePoint })),
        assignee: fc.option(fc.string()),
        taken: fc.option(fc.array(fc.nat(9))),
        error: fc.option(fc.record({ code: fc.string(), message: fc.string() })),
        completion: fc.option(fc.record({ by: fc.string(), payload: json })),
      },
      { requiredKeys: [] },
    );
    const commit = fc.record({
      steps: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), changes, { maxKeys: 3 }),
      run: fc.record(
        {
          status: fc.constantFrom('running', 'waiting', 'paused', 'completed'),
          wakeAt: time,
          completedAt: time,
          owner: fc.option(fc.constantFrom('w1', 'w2')),
          variables: json,
        },
        { requiredKeys: [] },
      ),
      events: fc.nat(3),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(commit, { minLength: 1, maxLength: 5 }), async (commits) => {
        let state = runOf({}, [stepOf('a')]);
        await store.create({ state, events: [], sinks: [] });
        for (const { steps, run, events: count } of commits) {
          const written = eventsOf(state.seq + 1, count);
          const changed = Object.entries(steps).map(
            ([node, given]) => ({ ...(state.steps.get(node) ?? stepOf(node)), ...given }) as StepState,
          );
          const after = nextOf(state, { ...(run as object), seq: state.seq + count }, changed);
          t.true(
            await store.commit({ before: state, after, events: written, sinks: count > 1 ? ['hooks'] : [] }),
          );
          state = after;
        }
        const place = { tenantId: TENANT, runId: state.id };
        t.deepEqual(comparable(await store.read(place)), comparable(state));
        const stored = await events(place);
        t.deepEqual(
          stored.map(({ seq }) => seq),
          Array.from({ length: state.seq }, (_, n) => n + 1),
        );
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  define('who reads while others write sees a moment, never parts of two', async (t, { store }) => {
    const step = stepOf('a', { output: { n: 0 } });
    let state = runOf({ variables: { n: 0 } }, [step]);
    await store.create({ state, events: [], sinks: [] });
    const place = { tenantId: TENANT, runId: state.id };
    const write = async () => {
      for (let n = 1; n <= 60; n += 1) {
        const after = nextOf(state, { variables: { n } }, [{ ...state.steps.get('a')!, output: { n } }]);
        t.true(await store.commit({ before: state, after, events: [], sinks: [] }));
        state = after;
      }
    };
    let isOver = false;
    const read = async () => {
      for (let last = 1; !isOver; ) {
        const seen = await store.read(place);
        t.deepEqual(seen?.steps.get('a')?.output, seen?.variables);
        t.true(seen!.revision >= last);
        last = seen!.revision;
        // SQLite answers in the same turn of the event loop: who asks again and again leaves nobody else a turn.
        await nextTurn();
      }
    };
    const readers = [read(), read(), read()];
    await write().finally(() => {
      isOver = true;
    });
    await Promise.all(readers);
  });
}
