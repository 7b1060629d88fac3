import test from 'ava';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { TaskCompletion } from '../../../../../plugins/workflow/contract/runs.ts';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { T0, TestRun } from './test-run.ts';

/* Human tasks (specification 2, Human task completion payload; decisions 2.5). */

const decision = buildGraph(
  {
    start,
    h: human({
      timeoutMs: 60_000,
      fill: ({ input }) => ({
        input: { assignee: input.owner ?? '', instructions: 'Look.' },
        missing: ['input.x'],
      }),
    }),
    yes: auto(),
    late: auto(),
    end,
  },
  [
    ['start', 'h'],
    ['h', 'yes', 'approved'],
    ['h', 'late', 'timeout'],
    ['yes', 'end'],
    ['late', 'end'],
  ],
);

test('a task opens when it is reached: filled in, assigned, with its time running', (t) => {
  const run = new TestRun(decision, { input: { owner: 'carla' } });
  t.like(run.step('h'), {
    status: 'waiting',
    assignee: 'carla',
    input: { assignee: 'carla', instructions: 'Look.' },
    dueAt: T0 + 60_000,
    startedAt: T0,
  });
  t.deepEqual(run.last('task.created').data, {
    attempt: 1,
    assignee: 'carla',
    due_at: '2026-01-01T00:01:00.000Z',
    outcomes: ['approved'],
  });
  t.deepEqual(run.last('warning').data, { reference: 'input.x', node: 'h' });
});

test('a task without assignee is anybody’s, and without timeout waits for ever', (t) => {
  const run = new TestRun(chain(1, human()));
  t.like(run.step('n1'), { assignee: null, dueAt: null });
  t.deepEqual(run.last('task.created').data, { attempt: 1, assignee: null, outcomes: [] });
  t.is(run.state.wakeAt, null);
  t.is(run.tick(1e12), 'unchanged');
});

test('an assignee that is no text is nobody’s rather than anybody’s', (t) => {
  const assigned = (assignee: JsonObject[string]) =>
    new TestRun(chain(1, human({ fill: () => ({ input: { assignee }, missing: [] }) }))).step('n1').assignee;
  t.is(assigned(7), '7');
  t.is(assigned(false), 'false');
  t.is(assigned({ id: 'x' }), '{"id":"x"}');
});

test('a task whose templates cannot be filled in fails', (t) => {
  const failure = { code: 'input_too_large', message: 'Too large.' };
  const run = new TestRun(chain(1, human({ fill: () => ({ input: {}, missing: [], failure }) })));
  t.is(run.state.error?.code, 'input_too_large');
  t.deepEqual(run.told(), ['run.started', 'step.completed start', 'step.failed n1', 'run.paused']);
});

test('a completion without anything has an empty output, no outcome, and leaves the variables alone', (t) => {
  const run = new TestRun(chain(1, human()));
  const { variables } = run.state;
  run.complete('n1');
  t.like(run.step('n1'), { output: {}, outcome: null, completion: { by: 'bob', payload: {} } });
  t.is(run.state.variables, variables);
});

test('a completion is told with who and which outcome, and without its content', (t) => {
  const run = new TestRun(decision);
  run.complete('h', { outcome: 'approved', output: { secret: 1 }, variables: { secret: 2 } });
  t.deepEqual(run.last('task.completed').data, { by: 'bob', outcome: 'approved' });
  t.false(JSON.stringify(run.events).includes('secret'));
});

test('variables merge shallowly into new ones; a member __proto__ is data as any other', (t) => {
  const run = new TestRun(chain(2, human()));
  run.complete('n1', { variables: { kept: 1, nested: { a: 1 } } });
  const first = run.state.variables;
  run.complete('n2', {
    variables: JSON.parse('{"nested":{"b":2},"__proto__":{"polluted":true},"constructor":3}'),
  });
  t.is(
    JSON.stringify(run.state.variables),
    '{"kept":1,"nested":{"b":2},"__proto__":{"polluted":true},"constructor":3}',
  );
  t.is(Object.getPrototypeOf(run.state.variables), Object.prototype);
  t.false('polluted' in run.state.variables);
  t.deepEqual(first, { kept: 1, nested: { a: 1 } });
});

test('the same payload again changes nothing, and another one is refused: payloads are compared as JSON values, as they were sent', (t) => {
  const sent: TaskCompletion = { outcome: 'approved', output: { a: 1, b: [1, { c: null }] } };
  const run = new TestRun(decision);
  run.complete('h', sent);
  const { state } = run;
  const same: TaskCompletion[] = [
    { output: { b: [1, { c: null }], a: 1 }, outcome: 'approved' },
    { ...sent, variables: undefined },
  ];
  const others: TaskCompletion[] = [
    {},
    { outcome: 'approved' },
    { ...sent, variables: {} },
    { ...sent, outcome: 'rejected' },
    { outcome: 'approved', output: { a: 1, b: [1, {}] } },
    { outcome: 'approved', output: { a: 1, b: [{ c: null }, 1] } },
    { outcome: 'approved', output: { a: '1', b: [1, { c: null }] } },
    { outcome: 'approved', output: { a: 1, b: { 0: 1, 1: { c: null } } } },
  ];
  for (const payload of same) t.is(run.complete('h', payload, 'somebody else'), 'unchanged');
  for (const payload of others)
    t.is(run.complete('h', payload), 'task-completed-otherwise', JSON.stringify(payload));
  t.is(run.state, state);
  run.cancel();
  t.is(run.complete('h', sent), 'unchanged');
});

test('only a waiting task can be completed', (t) => {
  const run = new TestRun(decision);
  t.is(run.complete('start'), 'task-not-open');
  run.complete('h', { outcome: 'approved' });
  t.is(run.complete('yes'), 'task-not-open', 'pending');
  run.claim();
  t.is(run.complete('yes'), 'task-not-open', 'running');
  t.is(run.complete('late'), 'task-not-open', 'skipped');
  t.is(run.apply({ type: 'task_completed', stepId: 'unknown', by: 'bob', payload: {} })[0], 'task-not-open');
});

test('a completion that does not fit into the data of the run is refused, and nothing changes', (t) => {
  const run = new TestRun(chain(1, human()), { limits: { maxContext: 60 } });
  const { state } = run;
  t.is(run.complete('n1', { output: { text: 'x'.repeat(60) } }), 'context-too-large');
  t.is(run.complete('n1', { variables: { text: 'x'.repeat(60) } }), 'context-too-large');
  t.is(
    run.complete('n1', { output: { t: 'x'.repeat(30) }, variables: { t: 'x'.repeat(30) } }),
    'context-too-large',
  );
  t.is(run.state, state);
  t.is(run.complete('n1', { variables: { text: 'x'.repeat(30) } }), 'applied');
});

test('variables that replace others count instead of them', (t) => {
  const run = new TestRun(chain(2, human()), { limits: { maxContext: 60 } });
  t.is(run.complete('n1', { variables: { text: 'x'.repeat(40) } }), 'applied');
  t.is(run.complete('n2', { variables: { text: 'y'.repeat(40) } }), 'applied');
});

test('when its time is over a task completes with the outcome timeout, where an edge has it', (t) => {
  const run = new TestRun(decision);
  const seq = run.state.seq;
  t.is(run.tick(59_999), 'unchanged');
  t.is(run.tick(1), 'applied');
  t.like(run.step('h'), { status: 'completed', outcome: 'timeout', output: {}, completion: null });
  t.like(run.statuses, { yes: 'skipped', late: 'pending' });
  t.deepEqual(run.told(seq), [
    'task.timed_out h',
    'task.completed h',
    'step.completed h',
    'step.skipped yes',
    'run.resumed',
  ]);
  t.deepEqual(run.last('task.completed').data, { by: 'system', outcome: 'timeout' });
  t.is(run.complete('h', { outcome: 'timeout' }), 'task-not-open');
  t.is(run.complete('h', { outcome: 'timeout', output: {} }), 'task-not-open');
});

test('without an edge for it the step fails as human_task_timeout, and a retry opens the task again', (t) => {
  const run = new TestRun(chain(1, human({ timeoutMs: 1000 })));
  t.is(run.tick(1500), 'applied');
  t.is(run.state.status, 'paused');
  t.is(run.step('n1').error?.code, 'human_task_timeout');
  t.deepEqual(run.told(4), ['task.timed_out n1', 'step.failed n1', 'run.paused']);
  t.is(run.complete('n1'), 'task-not-open');
  const { id } = run.step('n1');
  run.now += 500;
  run.retry();
  t.like(run.step('n1'), { id, status: 'waiting', attempt: 2, dueAt: run.now + 1000, error: null });
  t.is(run.last('task.created').data.attempt, 2);
  t.is(run.complete('n1'), 'applied');
  t.is(run.state.status, 'completed');
});

test('tasks time out while the run is paused', (t) => {
  const graph = buildGraph({ start, a: auto(), h: human({ timeoutMs: 1000 }), end }, [
    ['start', 'a'],
    ['start', 'h'],
    ['a', 'end'],
    ['h', 'end', 'timeout'],
  ]);
  const run = new TestRun(graph);
  run.claim();
  run.fail('a');
  t.is(run.state.wakeAt, T0 + 1000);
  t.is(run.tick(1000), 'applied');
  t.is(run.step('h').outcome, 'timeout');
  t.is(run.state.status, 'paused');
});

test('all tasks that are due time out at one tick, in topological order', (t) => {
  const task = human({ timeoutMs: 1000 });
  const graph = buildGraph({ start, a: task, b: task, c: human({ timeoutMs: 1001 }), end }, [
    ['start', 'c'],
    ['start', 'b'],
    ['start', 'a'],
    ['a', 'end'],
    ['b', 'end'],
    ['c', 'end'],
  ]);
  const run = new TestRun(graph);
  const seq = run.state.seq;
  run.tick(1000);
  t.deepEqual(run.told(seq), [
    'task.timed_out a',
    'step.failed a',
    'task.timed_out b',
    'step.failed b',
    'run.paused',
  ]);
  t.is(run.state.error?.node, 'a');
});
