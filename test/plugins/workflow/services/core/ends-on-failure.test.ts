import test from 'ava';
import { auto, buildGraph, end, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

const three = buildGraph({ start, a: auto(), b: auto(), h: human(), end }, [
  ['start', 'a'],
  ['start', 'b'],
  ['start', 'h'],
  ['a', 'end'],
  ['b', 'end'],
  ['h', 'end'],
]);

test('where a failure ends a run, what is left is cancelled with it, and the error stays', (t) => {
  const run = new TestRun(three, { endsOnFailure: true });
  run.claim();
  const late = run.fence('a');
  const { seq } = run.state;
  run.fail('b');
  t.deepEqual(run.statuses, { start: 'completed', a: 'cancelled', b: 'failed', h: 'cancelled' });
  t.deepEqual(run.told(seq), [
    'step.failed b',
    'run.paused',
    'step.cancelled a',
    'step.cancelled h',
    'run.cancelled',
  ]);
  t.like(run.state, { status: 'cancelled', owner: null, wakeAt: null, completedAt: run.now });
  t.like(run.state.error, { node: 'b' });
  t.is(run.succeed('a', {}, late), 'unchanged');
  t.is(run.retry(), 'not-paused');
});

test('a run has begun once a worker took a step of it, or a person could', (t) => {
  const waiting = new TestRun(
    buildGraph({ start, a: auto(), end }, [
      ['start', 'a'],
      ['a', 'end'],
    ]),
  );
  t.is(waiting.state.begunAt, null);
  waiting.claim();
  t.is(waiting.state.begunAt, waiting.now);
  const both = new TestRun(three);
  t.is(both.state.begunAt, both.now);
  const asked = new TestRun(
    buildGraph({ start, h: human(), end }, [
      ['start', 'h'],
      ['h', 'end'],
    ]),
  );
  t.is(asked.state.begunAt, asked.now);
});

test('a run that is cancelled before it begins never has begun', (t) => {
  const graph = buildGraph({ start, a: auto(), end }, [
    ['start', 'a'],
    ['a', 'end'],
  ]);
  const pending = new TestRun(graph);
  pending.cancel();
  t.is(pending.state.begunAt, null);
  const begun = new TestRun(graph);
  begun.claim();
  const { begunAt } = begun.state;
  begun.cancel();
  t.is(begun.state.begunAt, begunAt);
});
