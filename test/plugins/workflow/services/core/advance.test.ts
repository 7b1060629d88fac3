import test from 'ava';
import fc from 'fast-check';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { advance } from '../../../../../plugins/workflow/services/core/advance.ts';
import type { Command } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import { attempts } from './attempts.ts';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { graphOf, type Plan, plans } from './plan.ts';
import { RandomRun } from './random-run.ts';
import { TestRun } from './test-run.ts';

test('whatever happens to random graphs, runs are what a model written from the specification says', (t) => {
  const agreement = fc.property(plans, attempts, (plan, tries) => {
    const random = new RandomRun(plan);
    for (const one of tries) random.try(one);
  });
  t.notThrows(() => fc.assert(agreement, { numRuns: 500 }));
});

test('every run ends, with each node decided once at most and completed once at most', (t) => {
  fc.assert(
    fc.property(plans, attempts, (plan, tries) => {
      const random = new RandomRun(plan);
      for (const one of tries) random.try(one);
      random.finish();
      const { state, events } = random.run;
      const ended = (type: string) =>
        events.filter((event) => event.type === type).map(({ nodeId }) => nodeId);
      const once = [...ended('step.completed'), ...ended('step.skipped')];
      t.is(new Set(once).size, once.length);
      t.is(new Set([...state.steps.values()].map(({ id }) => id)).size, state.steps.size);
      if (state.status === 'completed') {
        t.is(state.steps.size, plan.nodes.length);
        t.is(once.length, plan.nodes.length);
      }
      for (const one of tries) random.try(one);
    }),
    { numRuns: 200 },
  );
});

test('the order in which nodes and edges are written does not matter', (t) => {
  const shuffled = plans.chain((plan) =>
    fc.record({
      plan: fc.constant(plan),
      nodes: fc.shuffledSubarray([...plan.nodes.keys()], { minLength: plan.nodes.length }),
      edges: fc.shuffledSubarray([...plan.edges.keys()], { minLength: plan.edges.length }),
    }),
  );
  fc.assert(
    fc.property(shuffled, attempts, ({ plan, nodes, edges }, tries) => {
      const other: Plan = {
        nodes: nodes.map((index) => plan.nodes[index]!),
        edges: edges.map((index) => plan.edges[index]!),
      };
      const random = new RandomRun(plan);
      // All at once: which of several steps a claim without room for all takes is the one thing that the order decides.
      for (const one of tries) random.try(one.try === 'claim' ? { ...one, room: 99 } : one);
      random.finish();
      const again = replay(other, random);
      t.is(again.state.status, random.run.state.status);
      t.deepEqual(again.state.variables, random.run.state.variables);
      t.is(again.state.steps.size, random.run.state.steps.size);
      for (const [node, step] of random.run.state.steps) {
        const { status, attempt, delivery, outcome, output, taken } = again.step(node);
        t.like(step, { status, attempt, delivery, outcome, output });
        t.deepEqual(
          taken?.map((index) => edges[index]!).sort((one, two) => one - two) ?? null,
          step.taken as never,
        );
      }
    }),
    { numRuns: 150 },
  );
});

/** The same things done to the same nodes of another plan. */
function replay(plan: Plan, { model, run }: RandomRun): TestRun {
  const again = new TestRun(graphOf(plan), { limits: run.limits });
  for (const entry of model.log.slice(1)) {
    again.now = entry.at;
    if (entry.did === 'claimed') again.claim(entry.worker, 99);
    if (entry.did === 'succeeded') again.succeed(entry.node, entry.output);
    if (entry.did === 'failed') again.fail(entry.node, entry.isRetryable);
    if (entry.did === 'released') again.release(entry.node);
    if (entry.did === 'completed') again.complete(entry.node, entry.payload);
    if (entry.did === 'lost') again.lose(again.state.owner!);
    if (entry.did === 'ticked') again.tick();
    if (entry.did === 'retried') again.retry();
    if (entry.did === 'cancelled') again.cancel();
  }
  return again;
}

test('commands that are applied together give what they give one by one, in one revision', (t) => {
  const command = fc.oneof(
    fc.constant<Command>({ type: 'claim', worker: 'w1', room: 1 }),
    fc.constant<Command>({ type: 'tick' }),
    fc.constant<Command>({ type: 'retry', by: 'anna' }),
    fc.constant<Command>({ type: 'worker_lost', worker: 'w1' }),
    fc
      .record({ step: fc.nat(6), attempt: fc.integer({ min: 1, max: 2 }), isFine: fc.boolean() })
      .map(({ step, attempt, isFine }): Command => {
        const fence = { stepId: `step-${step}`, attempt, delivery: 1 };
        if (isFine) return { type: 'succeeded', fence, output: { pick: 1 } };
        return { type: 'failed', fence, error: { code: 'x', message: 'x' }, isRetryable: true };
      }),
    fc.nat(6).map(
      (step): Command => ({
        type: 'task_completed',
        stepId: `step-${step}`,
        by: 'bob',
        payload: { outcome: 'a', output: { pick: 1 } },
      }),
    ),
  );
  fc.assert(
    fc.property(plans, fc.array(fc.array(command, { maxLength: 6 }), { maxLength: 6 }), (plan, batches) => {
      const together = new TestRun(graphOf(plan));
      const single = new TestRun(graphOf(plan));
      for (const batch of batches) {
        const { revision } = together.state;
        const verdicts = together.apply(...batch);
        const each = batch.flatMap((one) => single.apply(one));
        t.deepEqual(verdicts, each);
        t.is(together.state.revision, revision + (verdicts.includes('applied') ? 1 : 0));
        t.deepEqual(comparable(together.state), comparable(single.state));
        t.deepEqual(together.events, single.events);
        together.now += 120;
        single.now += 120;
      }
    }),
    { numRuns: 300 },
  );
});

function comparable({ revision: _, wakeAt: __, ...state }: RunState) {
  return state;
}

test('a run never activates more steps than it may, and ends as any other once the limit is higher', (t) => {
  fc.assert(
    fc.property(plans, fc.integer({ min: 1, max: 10 }), (plan, maxSteps) => {
      const run = new TestRun(graphOf(plan), { limits: { maxSteps } });
      const counts = () =>
        [...run.state.steps.values()].filter(
          ({ status, error }) => status !== 'skipped' && error?.code !== 'max_steps_exceeded',
        ).length;
      const free = new TestRun(graphOf(plan));
      for (let round = 0; round < 20; round += 1) {
        for (const one of [run, free]) {
          one.claim();
          for (const [node, step] of one.state.steps) {
            const edges = plan.edges.filter(({ from }) => from === node).map(({ when }) => when);
            const output: JsonObject = {
              pick: edges.find(({ is }) => is === 'own')?.['value' as never] ?? 0,
            };
            const outcome: string = edges.find(({ is }) => is === 'outcome')?.['value' as never] ?? 'a';
            if (step.status === 'running') one.succeed(node, output);
            if (step.status === 'waiting') one.complete(node, { outcome, output });
          }
        }
        t.true(counts() <= Math.max(maxSteps, run.limits.maxSteps));
        if (round === 10 && run.state.status === 'paused') {
          t.is(counts(), maxSteps);
          t.is(run.state.error?.code, 'max_steps_exceeded');
          run.limits = { ...run.limits, maxSteps: 50 };
          run.retry();
        }
      }
      t.is(run.state.status, 'completed');
      t.is(free.state.status, 'completed');
      const statusesOf = (one: TestRun) => Object.entries(one.statuses).sort();
      t.deepEqual(statusesOf(run), statusesOf(free));
    }),
    { numRuns: 200 },
  );
});

test('nothing to do gives the very same state and no events', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  const given = advance(
    run.graph,
    run.state,
    [{ type: 'tick' }, { type: 'claim', worker: 'w1', room: 5 }],
    run.facts,
  );
  t.is(given.state, run.state);
  t.deepEqual(given.events, []);
  t.deepEqual(given.verdicts, ['unchanged', 'unchanged']);
  t.is(advance(run.graph, run.state, [], run.facts).state, run.state);
});

test('a transition keeps the objects of the steps that did not change, and leaves the state before as it was', (t) => {
  const graph = buildGraph({ start, a: auto(), h: human(), end }, [
    ['start', 'a'],
    ['start', 'h'],
    ['a', 'end'],
    ['h', 'end'],
  ]);
  const run = new TestRun(graph, { input: { a: 1 } });
  const before = run.state;
  const copy = structuredClone(before);
  run.now += 5;
  run.claim();
  t.deepEqual(before, copy);
  t.is(run.step('h'), before.steps.get('h')!);
  t.is(run.state.input, before.input);
  t.is(run.state.variables, before.variables);
  t.is(run.state.startedAt, before.startedAt);
  t.is(run.state.updatedAt, run.now);
  t.is(run.events.at(-1)!.createdAt, run.now);
});

test('a new run knows where it comes from', (t) => {
  const run = new TestRun(chain(1), { input: { a: 1 } });
  t.like(run.state, {
    id: 'run',
    tenantId: 'tenant',
    definitionId: 'definition',
    versionId: 'version',
    version: 1,
    input: { a: 1 },
    variables: {},
    startedBy: 'anna',
    startedAt: run.now,
    updatedAt: run.now,
    revision: 1,
    seq: 2,
    completedAt: null,
    error: null,
    owner: null,
  });
  t.deepEqual(run.last('run.started').data, { by: 'anna' });
});
