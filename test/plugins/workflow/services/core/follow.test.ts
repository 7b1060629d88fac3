import test from 'ava';
import {
  auto,
  buildGraph,
  chain,
  type EdgeSketch,
  end,
  fork,
  human,
  type NodeSketch,
  start,
} from './graph-builder.ts';
import { TestRun } from './test-run.ts';

/* When nodes are decided (decisions 2.1.3 and 2.1.5). */

const no = () => false;

test('a join runs once, when the last of its edges is resolved', (t) => {
  const graph = buildGraph({ start, a: auto(), b: auto(), join: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['a', 'join'],
    ['b', 'join'],
    ['join', 'end'],
  ]);
  const run = new TestRun(graph);
  run.claim();
  run.succeed('a');
  t.false(run.state.steps.has('join'));
  run.succeed('b');
  t.is(run.step('join').status, 'pending');
  run.run('join');
  t.is(run.state.status, 'completed');
  t.is(run.events.filter(({ type, nodeId }) => type === 'step.started' && nodeId === 'join').length, 1);
});

test('a join runs when one edge is taken and the others are dead', (t) => {
  const graph = buildGraph({ start, a: auto(), b: auto(), join: auto(), end }, [
    ['start', 'a'],
    ['start', 'b', no],
    ['a', 'join'],
    ['b', 'join'],
    ['join', 'end'],
  ]);
  const run = new TestRun(graph);
  t.deepEqual(run.statuses, { start: 'completed', a: 'pending', b: 'skipped' });
  run.run('a');
  t.is(run.step('join').status, 'pending');
});

test('a join waits for a failed branch, and for a waiting one', (t) => {
  const graph = buildGraph({ start, a: auto(), h: human(), join: auto(), end }, [
    ['start', 'a'],
    ['start', 'h'],
    ['a', 'join'],
    ['h', 'join'],
    ['join', 'end'],
  ]);
  const run = new TestRun(graph);
  run.claim();
  run.fail('a');
  run.complete('h');
  t.false(run.state.steps.has('join'));
  run.retry();
  run.run('a');
  t.is(run.step('join').status, 'pending');
});

test('a node whose edges are all dead is skipped, with all that hangs on it alone, in the same transition', (t) => {
  const graph = buildGraph({ start, h: human(), a: auto(), b: auto(), c: human(), far: end, near: end }, [
    ['start', 'h'],
    ['h', 'a', 'long'],
    ['h', 'near', 'short'],
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'far'],
  ]);
  const run = new TestRun(graph);
  const { revision, seq } = run.state;
  run.complete('h', { outcome: 'short' });
  t.is(run.state.revision, revision + 1);
  t.like(run.statuses, { a: 'skipped', b: 'skipped', c: 'skipped', far: 'skipped', near: 'completed' });
  t.is(run.state.status, 'completed');
  t.deepEqual(
    run.told(seq).filter((line) => line.startsWith('step.skipped')),
    ['step.skipped a', 'step.skipped b', 'step.skipped c', 'step.skipped far'],
  );
});

test('an end node follows the rule of joins: it completes once, when all that leads to it is decided', (t) => {
  const run = new TestRun(fork(['a', 'b']));
  run.claim();
  run.succeed('a');
  t.false(run.state.steps.has('end'));
  t.is(run.state.status, 'running');
  run.succeed('b');
  t.is(run.state.status, 'completed');
});

test('a run goes on after one of two end nodes is reached, until all paths have ended', (t) => {
  const graph = buildGraph({ start, a: auto(), one: end, two: end }, [
    ['start', 'one'],
    ['start', 'a'],
    ['a', 'two'],
  ]);
  const run = new TestRun(graph);
  t.like(run.statuses, { one: 'completed', a: 'pending' });
  t.is(run.state.status, 'running');
  run.run('a');
  t.is(run.state.status, 'completed');
});

test('duplicate edges activate their target once', (t) => {
  const graph = buildGraph({ start, a: auto(), end }, [
    ['start', 'a'],
    ['start', 'a'],
    ['start', 'a', no],
    ['a', 'end'],
    ['a', 'end'],
  ]);
  const run = new TestRun(graph);
  t.is(run.state.steps.size, 2);
  t.is(run.step('a').status, 'pending');
  run.run('a');
  t.is(run.state.steps.size, 3);
  t.is(run.state.status, 'completed');
});

test('nodes are decided in topological order, whatever the order of the edges', (t) => {
  const graph = buildGraph({ start, a: auto(), b: auto(), c: auto(), end }, [
    ['start', 'c'],
    ['start', 'b'],
    ['start', 'a'],
    ['c', 'end'],
    ['b', 'end'],
    ['a', 'end'],
  ]);
  const run = new TestRun(graph);
  t.deepEqual([...run.state.steps.keys()], ['start', 'a', 'b', 'c']);
  t.deepEqual(
    [...run.state.steps.values()].map(({ id }) => id),
    ['step-1', 'step-2', 'step-3', 'step-4'],
  );
});

test('a dead path of ten thousand nodes is skipped without exhausting the stack', (t) => {
  const length = 10_000;
  const nodes: Record<string, NodeSketch> = { start };
  const edges: EdgeSketch[] = [
    ['start', 'end'],
    ['start', 'n0', no],
  ];
  for (let index = 0; index < length; index += 1) {
    nodes[`n${index}`] = auto();
    edges.push([`n${index}`, index + 1 < length ? `n${index + 1}` : 'end']);
  }
  const run = new TestRun(buildGraph({ ...nodes, end }, edges));
  t.is(run.state.status, 'completed');
  t.is(run.state.steps.size, length + 2);
});

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
  t.regex(run.state.error!.message, /"end".*3 steps were activated.*WORKFLOW_MAX_STEPS/);
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
  const graph = fork(['a', 'b']);
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
