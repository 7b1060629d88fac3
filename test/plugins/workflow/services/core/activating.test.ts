import test from 'ava';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

/* The limit of activated steps (specification 2, Limits; decisions 2.6). */

test('a run that activates as many steps as it may completes', (t) => {
  const run = new TestRun(chain(2), { limits: { maxSteps: 4 } });
  run.run('n1');
  run.run('n2');
  t.is(run.state.status, 'completed');
});

test('one step more pauses the run with max_steps_exceeded, and a retry goes on once the limit is higher', (t) => {
  const run = new TestRun(chain(2), { limits: { maxSteps: 3 } });
  run.run('n1');
  run.run('n2');
  t.is(run.state.status, 'paused');
  t.like(run.step('end'), { status: 'failed', attempt: 1, error: { code: 'max_steps_exceeded' } });
  t.regex(run.state.error!.message, /"end".*activated 3 steps.*WORKFLOW_MAX_STEPS/);
  const seq = run.state.seq;
  t.is(run.retry(), 'applied');
  t.is(run.state.status, 'paused');
  t.is(run.step('end').attempt, 2);
  t.deepEqual(run.told(seq), ['run.resumed', 'step.failed end', 'run.paused']);
  run.limits = { ...run.limits, maxSteps: 4 };
  run.retry();
  t.is(run.state.status, 'completed');
});

test('skipped steps do not count', (t) => {
  const graph = buildGraph({ start, a: auto(), b: auto(), end }, [
    ['start', 'a', () => false],
    ['start', 'end'],
    ['a', 'b'],
    ['b', 'end'],
  ]);
  t.is(new TestRun(graph, { limits: { maxSteps: 2 } }).state.status, 'completed');
});

test('steps that failed for other reasons count, and need no room of their own to be retried', (t) => {
  const graph = buildGraph({ start, a: auto(), b: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const run = new TestRun(graph, { limits: { maxSteps: 3 } });
  run.claim();
  run.fail('a');
  run.retry();
  t.is(run.step('a').status, 'pending');
});

test('who is activated and who is not goes by topological order', (t) => {
  const graph = buildGraph({ start, a: auto(), b: human(), c: auto(), d: auto(), end }, [
    ['start', 'd'],
    ['start', 'c'],
    ['start', 'b'],
    ['start', 'a'],
    ['a', 'end'],
    ['b', 'end'],
    ['c', 'end'],
    ['d', 'end'],
  ]);
  const run = new TestRun(graph, { limits: { maxSteps: 3 } });
  t.like(run.statuses, { a: 'pending', b: 'pending', c: 'failed', d: 'failed' });
  t.is(run.state.error?.node, 'c');
  run.limits = { ...run.limits, maxSteps: 4 };
  run.retry();
  t.like(run.statuses, { a: 'pending', b: 'pending', c: 'pending', d: 'failed' });
  t.is(run.state.error?.node, 'd');
});
