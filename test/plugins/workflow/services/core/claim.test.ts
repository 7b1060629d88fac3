import test from 'ava';
import type { RunData } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import { auto, buildGraph, chain, end, fork, human, start } from './graph-builder.ts';
import { T0, TestRun } from './test-run.ts';

const retry = { maxAttempts: 3, delayMs: 1000, backoff: 'fixed', maxDelayMs: 1000 } as const;

const three = buildGraph({ start, a: auto(), b: auto(), c: auto(), end }, [
  ['start', 'c'],
  ['start', 'b'],
  ['start', 'a'],
  ['a', 'end'],
  ['b', 'end'],
  ['c', 'end'],
]);

test('a claim takes pending steps in topological order, as many as there is room for, and owns the run', (t) => {
  const run = new TestRun(three);
  t.is(run.claim('w1', 2), 'applied');
  t.like(run.statuses, { a: 'running', b: 'running', c: 'pending' });
  t.is(run.state.owner, 'w1');
  t.like(run.step('a'), { attempt: 1, delivery: 1, startedAt: T0, input: { node: 'a' } });
  t.deepEqual(run.last('step.started').data, { attempt: 1, delivery: 1 });
  t.is(run.claim('w1', 2), 'applied');
  t.is(run.step('c').status, 'running');
});

test('a claim without room, or without steps, changes nothing', (t) => {
  const run = new TestRun(three);
  const { state } = run;
  t.is(run.claim('w1', 0), 'unchanged');
  t.is(run.claim('w1', -1), 'unchanged');
  t.is(run.state, state);
  run.claim();
  t.is(run.claim(), 'unchanged');
});

test('another worker claims nothing while somebody owns the run, and may when nothing is running any more', (t) => {
  const run = new TestRun(three);
  run.claim('w1', 1);
  t.is(run.claim('w2'), 'unchanged');
  run.succeed('a');
  t.is(run.state.owner, null);
  t.is(run.claim('w2', 1), 'applied');
  t.is(run.state.owner, 'w2');
});

test('the owner stays the owner while he finishes one step and claims the next in one transition', (t) => {
  const run = new TestRun(chain(2), { claim: { worker: 'w1', room: 1 } });
  t.is(run.state.revision, 1);
  t.is(run.step('n1').status, 'running');
  const verdicts = run.apply(
    { type: 'succeeded', fence: run.fence('n1'), output: {} },
    { type: 'claim', worker: 'w1', room: 1 },
  );
  t.deepEqual(verdicts, ['applied', 'applied']);
  t.is(run.state.revision, 2);
  t.is(run.state.owner, 'w1');
  t.like(run.statuses, { n1: 'completed', n2: 'running' });
});

test('a step that waits for its next attempt is not claimed before its time', (t) => {
  const run = new TestRun(chain(1, auto({ retry })));
  run.claim();
  run.fail('n1');
  run.now += 999;
  t.is(run.claim(), 'unchanged');
  run.now += 1;
  t.is(run.claim(), 'applied');
  t.like(run.step('n1'), { attempt: 2, delivery: 1, readyAt: null, startedAt: run.now });
});

test('templates are filled in at the claim, and a reference that leads nowhere is a warning, once for each', (t) => {
  const fill = ({ variables }: RunData) => ({
    input: { level: variables.level ?? '' },
    missing: ['variables.level', 'input.name'],
  });
  const run = new TestRun(chain(1, auto({ fill })));
  t.is(run.step('n1').input, null);
  run.claim();
  t.deepEqual(run.step('n1').input, { level: '' });
  const warnings = run.events.filter(({ type }) => type === 'warning');
  t.deepEqual(
    warnings.map(({ data, stepId }) => ({ ...data, stepId })),
    [
      { reference: 'variables.level', node: 'n1', stepId: run.step('n1').id },
      { reference: 'input.name', node: 'n1', stepId: run.step('n1').id },
    ],
  );
});

test('input is the same for all deliveries of an attempt, and filled in anew for the next attempt', (t) => {
  let calls = 0;
  const fill = () => {
    calls += 1;
    return { input: { calls }, missing: [] };
  };
  const run = new TestRun(chain(1, auto({ fill, retry })));
  run.claim();
  const { input, startedAt } = run.step('n1');
  run.now += 50;
  run.lose();
  run.claim('w2');
  run.release('n1');
  run.claim('w3');
  t.is(run.step('n1').input, input);
  t.is(run.step('n1').startedAt, startedAt);
  run.fail('n1');
  t.is(run.step('n1').input, null);
  run.now += 1000;
  run.claim();
  t.deepEqual(run.step('n1').input, { calls: 2 });
  run.fail('n1', false);
  run.retry();
  run.claim();
  t.deepEqual(run.step('n1').input, { calls: 3 });
  t.is(run.step('n1').attempt, 3);
});

test('a step whose templates cannot be filled in fails at the claim, and nothing after it is claimed', (t) => {
  const failure = { code: 'input_too_large', message: 'The configuration became too large.' };
  const broken = auto({ retry, fill: () => ({ input: {}, missing: ['x'], failure }) });
  const graph = buildGraph({ start, a: auto(), b: broken, c: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['start', 'c'],
    ['a', 'end'],
    ['b', 'end'],
    ['c', 'end'],
  ]);
  const run = new TestRun(graph);
  t.is(run.claim(), 'applied');
  t.like(run.statuses, { a: 'running', b: 'failed', c: 'pending' });
  t.like(run.step('b'), { input: null, delivery: 0, error: { ...failure, node: 'b' } });
  t.is(run.state.status, 'paused');
  t.is(run.state.owner, 'w1');

  const alone = new TestRun(chain(1, broken));
  t.is(alone.claim(), 'applied');
  t.is(alone.state.owner, null);
  t.is(alone.state.error?.code, 'input_too_large');
});

/* Deliveries that end without a result (decisions 2.6). */

const retryOften = { maxAttempts: 9, delayMs: 0, backoff: 'fixed', maxDelayMs: 0 } as const;

test('the steps of a worker that is lost are delivered again, and the next delivery says so', (t) => {
  const run = new TestRun(chain(1));
  run.claim('w1');
  t.is(run.lose('w1'), 'applied');
  t.like(run.step('n1'), { status: 'pending', attempt: 1, delivery: 1, lost: 1 });
  t.is(run.state.owner, null);
  t.is(run.state.wakeAt, run.now);
  t.is(run.claim('w2'), 'applied');
  t.like(run.step('n1'), { status: 'running', attempt: 1, delivery: 2, lost: 1 });
  t.deepEqual(run.last('step.started').data, { attempt: 1, delivery: 2 });
});

test('a loss and the claim of another worker fit into one transition', (t) => {
  const run = new TestRun(chain(1));
  run.claim('w1');
  const { revision } = run.state;
  const verdicts = run.apply({ type: 'worker_lost', worker: 'w1' }, { type: 'claim', worker: 'w2', room: 1 });
  t.deepEqual(verdicts, ['applied', 'applied']);
  t.like(run.state, { owner: 'w2', revision: revision + 1, wakeAt: null });
});

test('the loss of a worker that does not own the run changes nothing', (t) => {
  const run = new TestRun(chain(1));
  t.is(run.lose('w1'), 'unchanged');
  run.claim('w1');
  const { state } = run;
  t.is(run.lose('w2'), 'unchanged');
  t.is(run.state, state);
});

test('a step fails as worker_lost when its last delivery is lost: with four, it is redelivered three times', (t) => {
  const run = new TestRun(chain(1, auto({ retry: retryOften })), { limits: { maxDeliveries: 4 } });
  for (let lost = 1; lost <= 3; lost += 1) {
    run.claim('w1');
    run.lose('w1');
    t.like(run.step('n1'), { status: 'pending', lost });
  }
  run.claim('w1');
  t.is(run.step('n1').delivery, 4);
  run.lose('w1');
  t.like(run.step('n1'), { status: 'failed', attempt: 1, delivery: 4 });
  t.is(run.state.error?.code, 'worker_lost');
  t.regex(run.state.error!.message, /interrupted 4 times/);
  t.is(run.state.status, 'paused');
  run.retry();
  t.like(run.step('n1'), { status: 'pending', attempt: 2, delivery: 0, lost: 0 });
});

test('a delivery that is given back does not count, and its fence is never used again', (t) => {
  const run = new TestRun(chain(1), { limits: { maxDeliveries: 2 } });
  const fences = new Set<string>();
  for (let times = 0; times < 10; times += 1) {
    run.claim('w1');
    fences.add(JSON.stringify(run.fence('n1')));
    t.is(run.release('n1'), 'applied');
    t.is(run.state.owner, null);
  }
  t.is(fences.size, 10);
  t.like(run.step('n1'), { status: 'pending', lost: 0, delivery: 10 });
  run.claim('w1');
  run.lose('w1');
  t.is(run.step('n1').status, 'pending');
});

test('a worker that gives back one of two steps still owns the run', (t) => {
  const run = new TestRun(fork(['a', 'b']));
  run.claim('w1');
  run.release('a');
  t.is(run.state.owner, 'w1');
  t.is(run.state.wakeAt, null);
  t.is(run.claim('w2'), 'unchanged');
});

test('nobody gives back a delivery that is over, nor a task', (t) => {
  const run = new TestRun(chain(1));
  run.claim('w1');
  const first = run.fence('n1');
  run.lose('w1');
  run.claim('w2');
  t.is(run.release('n1', first), 'unchanged');
  const waiting = new TestRun(chain(1, human()));
  t.is(waiting.release('n1'), 'unchanged');
});

test('lost steps of a paused run wait until it is retried', (t) => {
  const run = new TestRun(fork(['a', 'b']));
  run.claim('w1');
  run.fail('a');
  run.lose('w1');
  t.like(run.state, { status: 'paused', owner: null, wakeAt: null });
  t.is(run.claim('w2'), 'unchanged');
  run.retry();
  t.is(run.state.wakeAt, run.now);
});
