import test from 'ava';
import type { RunData } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import { auto, buildGraph, chain, end, start } from './graph-builder.ts';
import { T0, TestRun } from './test-run.ts';

const retry = { maxAttempts: 3, delayMs: 1000, backoff: 'fixed', maxDelayMs: 1000 } as const;

const fork = buildGraph({ start, a: auto(), b: auto(), c: auto(), end }, [
  ['start', 'c'],
  ['start', 'b'],
  ['start', 'a'],
  ['a', 'end'],
  ['b', 'end'],
  ['c', 'end'],
]);

test('a claim takes pending steps in topological order, as many as there is room for, and owns the run', (t) => {
  const run = new TestRun(fork);
  t.is(run.claim('w1', 2), 'applied');
  t.like(run.statuses, { a: 'running', b: 'running', c: 'pending' });
  t.is(run.state.owner, 'w1');
  t.like(run.step('a'), { attempt: 1, delivery: 1, startedAt: T0, input: { node: 'a' } });
  t.deepEqual(run.last('step.started').data, { attempt: 1, delivery: 1 });
  t.is(run.claim('w1', 2), 'applied');
  t.is(run.step('c').status, 'running');
});

test('a claim without room, or without steps, changes nothing', (t) => {
  const run = new TestRun(fork);
  const { state } = run;
  t.is(run.claim('w1', 0), 'unchanged');
  t.is(run.claim('w1', -1), 'unchanged');
  t.is(run.state, state);
  run.claim();
  t.is(run.claim(), 'unchanged');
});

test('another worker claims nothing while somebody owns the run, and may when nothing is running any more', (t) => {
  const run = new TestRun(fork);
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
