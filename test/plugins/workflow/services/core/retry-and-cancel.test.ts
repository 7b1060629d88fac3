import test from 'ava';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

const three = buildGraph({ start, a: auto(), b: auto(), h: human(), end }, [
  ['start', 'a'],
  ['start', 'b'],
  ['start', 'h'],
  ['a', 'end'],
  ['b', 'end'],
  ['h', 'end'],
]);

test('only a paused run is retried', (t) => {
  const run = new TestRun(chain(1));
  const { state } = run;
  t.is(run.retry(), 'not-paused');
  t.is(run.state, state);
  t.is(new TestRun(chain(1, human())).retry(), 'not-paused');
});

test('a retry begins the next attempt of every failed step and leaves the others alone', (t) => {
  const run = new TestRun(three);
  run.claim();
  run.fail('a');
  const { h } = Object.fromEntries(run.state.steps);
  const b = run.step('b');
  t.is(run.retry(), 'applied');
  t.like(run.step('a'), { status: 'pending', attempt: 2, completedAt: null, startedAt: null });
  t.is(run.step('b'), b);
  t.is(run.step('h'), h!);
  t.is(run.state.owner, 'w1');
});

test('a cancel ends the steps that have not ended, in topological order, and leaves failed ones failed', (t) => {
  const run = new TestRun(three);
  run.claim('w1', 2);
  run.fail('b');
  const seq = run.state.seq;
  const late = run.fence('a');
  t.is(run.cancel('bob'), 'applied');
  t.deepEqual(run.statuses, { start: 'completed', a: 'cancelled', b: 'failed', h: 'cancelled' });
  t.deepEqual(run.told(seq), ['step.cancelled a', 'step.cancelled h', 'run.cancelled']);
  t.deepEqual(run.last('run.cancelled').data, { by: 'bob' });
  t.deepEqual(run.last('step.cancelled').data, { attempt: 1, delivery: 0 });
  t.like(run.state, { owner: null, wakeAt: null, completedAt: run.now, error: { node: 'b' } });
  t.is(run.succeed('a', {}, late), 'unchanged');
});

test('a cancel of a run that has nothing but failed steps is stored too', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  run.fail('n1');
  const { revision, steps } = run.state;
  t.is(run.cancel(), 'applied');
  t.like(run.state, { status: 'cancelled', revision: revision + 1 });
  t.is(run.state.steps, steps);
});

test('a second cancel changes nothing, and a completed run is not cancelled', (t) => {
  const run = new TestRun(three);
  run.cancel();
  const { state } = run;
  t.is(run.cancel(), 'unchanged');
  t.is(run.state, state);
  const over = new TestRun(buildGraph({ start, end }, [['start', 'end']]));
  t.is(over.state.status, 'completed');
  t.is(over.cancel(), 'already-completed');
});
