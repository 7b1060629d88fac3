import test from 'ava';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

/* Deliveries that end without a result (decisions 2.6). */

const retry = { maxAttempts: 9, delayMs: 0, backoff: 'fixed', maxDelayMs: 0 } as const;

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
  const run = new TestRun(chain(1, auto({ retry })), { limits: { maxDeliveries: 4 } });
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
  const graph = buildGraph({ start, a: auto(), b: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const run = new TestRun(graph);
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
  const graph = buildGraph({ start, a: auto(), b: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const run = new TestRun(graph);
  run.claim('w1');
  run.fail('a');
  run.lose('w1');
  t.like(run.state, { status: 'paused', owner: null, wakeAt: null });
  t.is(run.claim('w2'), 'unchanged');
  run.retry();
  t.is(run.state.wakeAt, run.now);
});
