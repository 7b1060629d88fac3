import test, { type ExecutionContext } from 'ava';
import type { RunState, StepState } from '../../../../plugins/workflow/services/core/state.ts';
import { createRunQueries } from '../../../../plugins/workflow/store/run-queries.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { eventsOf, NASTY, nextOf, OTHER_TENANT, runOf, stepOf, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  const store = createRunStore(kit);
  const start = async (given: Parameters<typeof runOf>[0] = {}, steps: readonly StepState[] = []) => {
    const state = runOf(given, steps);
    await store.create({ state, events: eventsOf(1, state.seq), sinks: [] });
    return state;
  };
  return { ...kit, store, start, queries: createRunQueries(kit) };
}

const ids = (runs: readonly { id: string }[]) => runs.map(({ id }) => id);
const headOf = ({ steps: _, ...head }: RunState) => head;

eachDatabase(test, 'runs are listed newest first, with filters, for their tenant', async (t, fresh) => {
  const { queries, start } = await open(t, fresh);
  const runs = [];
  for (let n = 0; n < 6; n += 1) {
    const status = n % 2 === 0 ? 'completed' : 'waiting';
    runs.push(await start({ startedAt: 1_000 + n, status, definitionId: n < 3 ? 'a' : 'A', input: NASTY }));
  }
  await start({ tenantId: OTHER_TENANT });
  const list = (query: object = {}) => queries.list(TENANT, { limit: 100, offset: 0, ...query });
  const newest = ids(runs).reverse();
  t.deepEqual((await list()).runs[0], headOf(runs[5]!));
  t.deepEqual(ids((await list()).runs), newest);
  const page = await list({ limit: 2, offset: 1 });
  t.deepEqual([page.total, ids(page.runs)], [6, newest.slice(1, 3)]);
  t.is((await list({ limit: 0 })).total, 6);
  t.deepEqual(ids((await list({ definitionId: 'a' })).runs), newest.slice(3));
  t.deepEqual(ids((await list({ status: 'waiting' })).runs), [newest[0], newest[2], newest[4]]);
  const [from, to] = [new Date(1_001), new Date(1_004)];
  t.deepEqual(ids((await list({ from, to })).runs), newest.slice(2, 5));
  const both = await list({ definitionId: 'A', status: 'completed', from });
  t.deepEqual([both.total, ids(both.runs)], [1, [runs[4]!.id]]);
  for (const definitionId of ['\0', '\ud800', 'none']) {
    t.deepEqual(await list({ definitionId }), { runs: [], total: 0 });
  }
});

eachDatabase(test, 'runs of one moment have an order too', async (t, fresh) => {
  const { queries, start } = await open(t, fresh);
  for (let n = 0; n < 7; n += 1) await start();
  const all = ids((await queries.list(TENANT, { limit: 9, offset: 0 })).runs);
  t.deepEqual(all, all.toSorted().reverse());
  const pages = [];
  for (let offset = 0; offset < 7; offset += 2) {
    pages.push(...(await queries.list(TENANT, { limit: 2, offset })).runs);
  }
  t.deepEqual(ids(pages), all);
});

eachDatabase(test, 'a run and its parts are found by their ids', async (t, fresh) => {
  const { queries, start, store } = await open(t, fresh);
  const steps = [stepOf('c', { createdAt: 3 }), stepOf('b', { createdAt: 2 }), stepOf('a', { createdAt: 2 })];
  const run = await start({ seq: 3 }, steps);
  const place = { tenantId: TENANT, runId: run.id };
  t.deepEqual(await queries.head(place), headOf(run));
  t.deepEqual(await queries.position(place), { status: 'running', seq: 3 });
  const [late, one, other] = steps as [StepState, StepState, StepState];
  t.deepEqual(
    [...(await store.read(place))!.steps.values()],
    [...[one, other].sort((a, b) => (a.id < b.id ? -1 : 1)), late],
  );
  t.deepEqual(await queries.step({ ...place, stepId: one.id }), one);
  const elsewhere = { tenantId: TENANT, runId: (await start()).id };
  t.is(await queries.step({ ...elsewhere, stepId: one.id }), undefined);
  t.deepEqual(await queries.runAndStep(TENANT, one.id), { runId: run.id, step: one });
  t.is(await queries.runAndStep(OTHER_TENANT, one.id), undefined);
  for (const id of [run.id, '', '\0', '\ud800', `' or 1=1 --`])
    t.is(await queries.runAndStep(TENANT, id), undefined);
  for (const nowhere of [
    { ...place, tenantId: OTHER_TENANT },
    { ...place, runId: '\0' },
    { ...place, runId: '' },
  ]) {
    t.is(await queries.head(nowhere), undefined);
    t.is(await queries.position(nowhere), undefined);
    t.is(await store.read(nowhere), undefined);
    t.is(await queries.step({ ...nowhere, stepId: one.id }), undefined);
    t.deepEqual(await queries.events({ ...nowhere, limit: 9 }), { events: [], total: 0 });
    t.deepEqual(await queries.eventsOfStep({ ...nowhere, stepId: one.id, limit: 9 }), []);
  }
});

eachDatabase(test, 'events come in order after a number, and those of a step alone', async (t, fresh) => {
  const { queries, start, store } = await open(t, fresh);
  const step = stepOf('a');
  const before = await start({ seq: 5 }, [step]);
  const own = eventsOf(6, 2, NASTY).map((event) => ({ ...event, stepId: step.id }));
  const after = nextOf(before, { seq: 7 });
  await store.commit({ before, after, events: own, sinks: [] });
  const place = { tenantId: TENANT, runId: after.id };
  const seen = await queries.events({ ...place, limit: 100 });
  t.is(seen.total, 7);
  t.deepEqual(seen.events, [...eventsOf(1, 5), ...own]);
  const page = await queries.events({ ...place, after: 2, limit: 2 });
  t.deepEqual([page.total, page.events.map(({ seq }) => seq)], [7, [3, 4]]);
  t.deepEqual((await queries.events({ ...place, after: 7, limit: 2 })).events, []);
  t.deepEqual(await queries.eventsOfStep({ ...place, stepId: step.id, limit: 9 }), own);
  t.deepEqual(await queries.eventsOfStep({ ...place, stepId: step.id, limit: 1 }), own.slice(0, 1));
});

eachDatabase(
  test,
  'open tasks are those that wait, oldest first, for whoever may complete them',
  async (t, fresh) => {
    const { queries, start, store } = await open(t, fresh);
    const waiting = (nodeId: string, assignee: string | null, createdAt: number) =>
      stepOf(nodeId, { status: 'waiting', nodeType: 'human_task', assignee, createdAt });
    const steps = [
      waiting('last', 'user-1', 9),
      waiting('first', null, 1),
      waiting('odd', 'role:\0\ud800', 3),
      waiting('upper', 'USER-1', 4),
      waiting('null', 'null', 5),
      stepOf('done', { status: 'completed', nodeType: 'human_task' }),
      stepOf('busy', { status: 'running' }),
    ];
    const run = await start({ definitionId: 'd', versionId: 'v' }, steps);
    await start({ tenantId: OTHER_TENANT }, [waiting('foreign', null, 1)]);
    const open_ = async (assignees?: readonly string[], page = { limit: 100, offset: 0 }) =>
      (await queries.openTasks(TENANT, { assignees, ...page })).map(({ step }) => step.nodeId);
    t.deepEqual((await queries.openTasks(TENANT, { limit: 1, offset: 0 }))[0], {
      runId: run.id,
      definitionId: 'd',
      versionId: 'v',
      step: steps[1],
    });
    t.deepEqual(await open_(), ['first', 'odd', 'upper', 'null', 'last']);
    t.deepEqual(await open_(['user-1', 'role:clerk']), ['first', 'last']);
    t.deepEqual(await open_(['role:\0\ud800']), ['first', 'odd']);
    t.deepEqual(await open_(['null']), ['first', 'null']);
    t.deepEqual(await open_([]), ['first']);
    t.deepEqual(await open_(undefined, { limit: 2, offset: 1 }), ['odd', 'upper']);

    const completed = { ...steps[1]!, status: 'completed' as const };
    await store.commit({ before: run, after: nextOf(run, {}, [completed]), events: [], sinks: [] });
    t.deepEqual(await open_([]), []);
  },
);
