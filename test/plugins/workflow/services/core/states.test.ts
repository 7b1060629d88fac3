import test from 'ava';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

/*
 * One test for each row of the table of run states (specification 2, States and transitions), and for the definition of
 * a run's status.
 */

const withTask = buildGraph({ start, h: human(), a: auto(), end }, [
  ['start', 'h'],
  ['h', 'a'],
  ['a', 'end'],
]);

test('(none) → running: a run starts, and the engine advances it by itself', (t) => {
  const run = new TestRun(chain(1));
  t.is(run.state.status, 'running');
  t.is(run.state.revision, 1);
  t.deepEqual(run.statuses, { start: 'completed', n1: 'pending' });
  t.deepEqual(run.told(), ['run.started', 'step.completed start']);
});

test('running → waiting: a human task is reached', (t) => {
  const run = new TestRun(withTask);
  t.is(run.state.status, 'waiting');
  t.deepEqual(run.told(), ['run.started', 'step.completed start', 'task.created h', 'run.waiting']);
});

test('waiting → running: the task is completed, its outcome, output and variables applied', (t) => {
  const run = new TestRun(withTask);
  const seq = run.state.seq;
  t.is(run.complete('h', { outcome: 'fine', output: { text: 'yes' }, variables: { level: 2 } }), 'applied');
  t.is(run.state.status, 'running');
  t.deepEqual(run.state.variables, { level: 2 });
  t.like(run.step('h'), { status: 'completed', outcome: 'fine', output: { text: 'yes' } });
  t.deepEqual(run.told(seq), ['task.completed h', 'step.completed h', 'run.resumed']);
});

test('running → paused: a step fails', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  const seq = run.state.seq;
  run.fail('n1');
  const error = { code: 'broken', message: 'n1 is broken', node: 'n1' };
  t.is(run.state.status, 'paused');
  t.deepEqual(run.state.error, error);
  t.like(run.step('n1'), { status: 'failed', error });
  t.deepEqual(run.told(seq), ['step.failed n1', 'run.paused']);
  t.deepEqual(run.last('run.paused').data, { error });
});

test('paused → running: the failed step is retried', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  const { id } = run.step('n1');
  run.fail('n1');
  const seq = run.state.seq;
  t.is(run.retry('bob'), 'applied');
  t.is(run.state.status, 'running');
  t.is(run.state.error, null);
  t.like(run.step('n1'), { id, status: 'pending', attempt: 2, delivery: 0, error: null, input: null });
  t.deepEqual(run.told(seq), ['run.resumed']);
  t.deepEqual(run.last('run.resumed').data, { by: 'bob' });
});

test('running → completed: all paths reached end nodes', (t) => {
  const run = new TestRun(chain(1));
  run.run('n1', { answer: 42 });
  t.is(run.state.status, 'completed');
  t.is(run.state.completedAt, run.now);
  t.deepEqual(run.statuses, { start: 'completed', n1: 'completed', end: 'completed' });
  t.deepEqual(run.told(4), ['step.completed end', 'run.completed']);
});

test('waiting → completed: the last task leads to the end', (t) => {
  const run = new TestRun(chain(1, human()));
  const seq = run.state.seq;
  run.complete('n1');
  t.is(run.state.status, 'completed');
  t.deepEqual(run.told(seq), [
    'task.completed n1',
    'step.completed n1',
    'step.completed end',
    'run.completed',
  ]);
});

test('any state → cancelled', (t) => {
  const running = new TestRun(chain(1));
  const waiting = new TestRun(withTask);
  const paused = new TestRun(chain(1));
  paused.claim();
  paused.fail('n1');
  for (const run of [running, waiting, paused]) {
    const before = run.state.status;
    t.is(run.cancel(), 'applied', before);
    t.is(run.state.status, 'cancelled', before);
    t.is(run.state.completedAt, run.now, before);
    t.is(run.state.wakeAt, null, before);
    t.is(run.told().at(-1), 'run.cancelled', before);
  }
});

test('waiting → paused → waiting: a task times out, and is opened again', (t) => {
  const run = new TestRun(chain(1, human({ timeoutMs: 1000 })));
  run.tick(1000);
  t.is(run.state.status, 'paused');
  const seq = run.state.seq;
  run.retry();
  t.is(run.state.status, 'waiting');
  t.deepEqual(run.told(seq), ['run.resumed', 'task.created n1', 'run.waiting']);
});

test('a run with a pending or running step beside a waiting one is running', (t) => {
  const run = new TestRun(
    buildGraph({ start, a: auto(), h: human(), end }, [
      ['start', 'a'],
      ['start', 'h'],
      ['a', 'end'],
      ['h', 'end'],
    ]),
  );
  t.is(run.state.status, 'running');
  run.claim();
  t.is(run.state.status, 'running');
  run.succeed('a');
  t.is(run.state.status, 'waiting');
  t.is(run.told().at(-1), 'run.waiting');
});

test('a paused run lets running steps finish, decides what follows, opens no task and claims nothing', (t) => {
  const task = human({ timeoutMs: 1000 });
  const run = new TestRun(
    buildGraph({ start, a: auto(), b: auto(), after: auto(), h: task, open: human(), end }, [
      ['start', 'a'],
      ['start', 'b'],
      ['start', 'open'],
      ['open', 'end'],
      ['b', 'after'],
      ['b', 'h'],
      ['a', 'end'],
      ['after', 'end'],
      ['h', 'end'],
    ]),
  );
  run.claim();
  run.fail('a');
  t.is(run.succeed('b', { kept: true }), 'applied');
  t.is(run.state.status, 'paused');
  t.deepEqual(run.step('b').output, { kept: true });
  t.like(run.statuses, { a: 'failed', b: 'completed', after: 'pending', h: 'pending', open: 'waiting' });
  t.is(run.claim(), 'unchanged');
  t.is(run.complete('h'), 'task-not-open');
  t.is(run.complete('open'), 'applied');
  t.is(run.state.status, 'paused');
  run.now += 5000;
  run.retry();
  // Its time counts from now.
  t.like(run.step('h'), { status: 'waiting', attempt: 1, dueAt: run.now + 1000 });
  t.is(run.claim(), 'applied');
  t.like(run.statuses, { a: 'running', after: 'running' });
});

test('a run stays paused with its first error when another step fails, and tells of the pause once', (t) => {
  const run = new TestRun(
    buildGraph({ start, a: auto(), b: auto(), end }, [
      ['start', 'a'],
      ['start', 'b'],
      ['a', 'end'],
      ['b', 'end'],
    ]),
  );
  run.claim();
  run.fail('b');
  run.fail('a');
  t.is(run.state.error?.node, 'b');
  t.is(run.events.filter(({ type }) => type === 'run.paused').length, 1);
  run.retry();
  t.like(run.statuses, { a: 'pending', b: 'pending' });
  run.claim();
  run.fail('a');
  t.is(run.state.error?.node, 'a');
});

test('nothing changes a run that is over, and nothing is told of it', (t) => {
  const over = new TestRun(chain(1));
  over.claim();
  const late = over.fence('n1');
  over.succeed('n1');
  const cancelled = new TestRun(withTask);
  cancelled.cancel();
  const step = cancelled.step('h').id;
  for (const run of [over, cancelled]) {
    const { state } = run;
    const verdicts = run.apply(
      { type: 'claim', worker: 'w1', room: 9 },
      { type: 'succeeded', fence: late, output: {} },
      { type: 'failed', fence: late, error: { code: 'x', message: 'x' }, isRetryable: true },
      { type: 'released', fence: late },
      { type: 'worker_lost', worker: 'w1' },
      { type: 'tick' },
      { type: 'task_completed', stepId: step, by: 'bob', payload: {} },
      { type: 'retry', by: 'bob' },
      { type: 'cancel', by: 'bob' },
    );
    t.deepEqual(verdicts, [
      'unchanged',
      'unchanged',
      'unchanged',
      'unchanged',
      'unchanged',
      'unchanged',
      'task-not-open',
      'not-paused',
      run === over ? 'already-completed' : 'unchanged',
    ] as never);
    t.is(run.state, state);
  }
});
