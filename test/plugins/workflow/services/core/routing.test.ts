import test from 'ava';
import { auto, buildGraph, end, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

/* One test for each routing rule (specification 2, Routing rules; decisions 2.1), under its number. */

const no = () => false;
const yes = () => true;

test('rule 1: an edge with an outcome is taken when the human task completed with that outcome', (t) => {
  const graph = buildGraph({ start, h: human(), approve: auto(), reject: auto(), end }, [
    ['start', 'h'],
    ['h', 'approve', 'approved'],
    ['h', 'reject', 'rejected'],
    ['approve', 'end'],
    ['reject', 'end'],
  ]);
  const run = new TestRun(graph);
  run.complete('h', { outcome: 'rejected' });
  t.deepEqual(run.step('h').taken, [2]);
  t.like(run.statuses, { approve: 'skipped', reject: 'pending' });
});

test('rule 2: an edge with a comparison is taken when it holds on the data of the run', (t) => {
  const graph = buildGraph({ start, a: auto(), big: auto(), small: auto(), end }, [
    ['start', 'a'],
    ['a', 'big', ({ input, output }) => (output('a')?.size as number) > (input.limit as number)],
    ['a', 'small', ({ output }) => (output('a')?.size as number) <= 10],
    ['big', 'end'],
    ['small', 'end'],
  ]);
  const run = new TestRun(graph, { input: { limit: 10 } });
  run.run('a', { size: 11 });
  t.like(run.statuses, { big: 'pending', small: 'skipped' });
});

test('rule 2: conditions see the output and the variables of the completion that they route, and no output of a step that is not completed', (t) => {
  const seen: unknown[] = [];
  const graph = buildGraph({ start, h: human(), other: auto(), end }, [
    ['start', 'h'],
    ['start', 'other'],
    [
      'h',
      'end',
      ({ variables, output }) => {
        seen.push(variables.level, output('h')?.text, output('other'), output('nowhere'));
        return true;
      },
    ],
    ['other', 'end'],
  ]);
  const run = new TestRun(graph);
  run.claim();
  run.complete('h', { output: { text: 'hello' }, variables: { level: 3 } });
  t.deepEqual(seen, [3, 'hello', undefined, undefined]);
});

test('rule 3: edges without condition are taken when all conditional edges fail to match', (t) => {
  const graph = buildGraph({ start, a: auto(), special: auto(), usual: auto(), also: auto(), end }, [
    ['start', 'a'],
    ['a', 'special', no],
    ['a', 'usual'],
    ['a', 'also'],
    ['special', 'end'],
    ['usual', 'end'],
    ['also', 'end'],
  ]);
  const run = new TestRun(graph);
  run.run('a');
  t.deepEqual(run.step('a').taken, [2, 3]);
  t.like(run.statuses, { special: 'skipped', usual: 'pending', also: 'pending' });
});

test('rule 3: edges without condition are not taken when a conditional edge matches', (t) => {
  const graph = buildGraph({ start, h: human(), special: auto(), usual: auto(), end }, [
    ['start', 'h'],
    ['h', 'usual'],
    ['h', 'special', 'special'],
    ['special', 'end'],
    ['usual', 'end'],
  ]);
  const run = new TestRun(graph);
  run.complete('h', { outcome: 'special' });
  t.deepEqual(run.step('h').taken, [2]);
  t.like(run.statuses, { usual: 'skipped', special: 'pending' });
});

test('rule 4: all conditional edges that match are taken', (t) => {
  const graph = buildGraph({ start, h: human(), a: auto(), b: auto(), c: auto(), end }, [
    ['start', 'h'],
    ['h', 'a', 'go'],
    ['h', 'b', yes],
    ['h', 'c', no],
    ['a', 'end'],
    ['b', 'end'],
    ['c', 'end'],
  ]);
  const run = new TestRun(graph);
  run.complete('h', { outcome: 'go' });
  t.deepEqual(run.step('h').taken, [1, 2]);
  t.like(run.statuses, { a: 'pending', b: 'pending', c: 'skipped' });
});

test('without conditional edges all edges are taken: a fork', (t) => {
  const graph = buildGraph({ start, a: auto(), b: auto(), end }, [
    ['start', 'a'],
    ['start', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const run = new TestRun(graph);
  t.deepEqual(run.step('start').taken, [0, 1]);
  t.like(run.statuses, { a: 'pending', b: 'pending' });
});

test('an outcome takes no edge of a task that was completed without one', (t) => {
  const graph = buildGraph({ start, h: human(), a: auto(), b: auto(), end }, [
    ['start', 'h'],
    ['h', 'a', 'null'],
    ['h', 'b'],
    ['a', 'end'],
    ['b', 'end'],
  ]);
  const run = new TestRun(graph);
  run.complete('h');
  t.is(run.step('h').outcome, null);
  t.deepEqual(run.step('h').taken, [2]);
});

test('an automatic step that leads nowhere fails as no_matching_edge, without an output, and a retry executes it again', (t) => {
  const graph = buildGraph(
    { start, a: auto({ retry: { maxAttempts: 5, delayMs: 1, backoff: 'fixed', maxDelayMs: 1 } }), end },
    [
      ['start', 'a'],
      ['a', 'end', ({ output }) => output('a')?.ok === true],
    ],
  );
  const run = new TestRun(graph);
  run.run('a', { ok: false });
  t.is(run.state.status, 'paused');
  t.like(run.step('a'), { status: 'failed', output: null, taken: null });
  const { code, message, node } = run.state.error!;
  t.deepEqual({ code, node }, { code: 'no_matching_edge', node: 'a' });
  t.regex(message, /"a".*variables\.test eq true \(to "end"\).*default edge/);
  run.retry();
  t.is(run.step('a').attempt, 2);
  run.run('a', { ok: true });
  t.is(run.state.status, 'completed');
});

test('a start node that leads nowhere pauses the run', (t) => {
  const graph = buildGraph({ start, end }, [['start', 'end', ({ input }) => input.go === true]]);
  const run = new TestRun(graph, { input: { go: false } });
  t.is(run.state.status, 'paused');
  t.is(run.step('start').error?.code, 'no_matching_edge');
  t.deepEqual(run.told(), ['run.started', 'step.failed start', 'run.paused']);
  run.retry();
  t.like(run.step('start'), { status: 'failed', attempt: 2 });
  t.deepEqual(run.told(3), ['run.resumed', 'step.failed start', 'run.paused']);
  t.is(new TestRun(graph, { input: { go: true } }).state.status, 'completed');
});

test('a message of no_matching_edge stays short, however many and long the conditions are', (t) => {
  const names = Array.from({ length: 40 }, (_, index) => `${index}-${'x'.repeat(1000)}`);
  const graph = buildGraph(
    { start, end },
    names.map((name) => ['start', 'end', name] as const),
  );
  const { message } = new TestRun(graph).state.error!;
  t.true(message.length < 1500, message);
  t.regex(message, /and 35 more/);
});

test('a human completion that routes nowhere is refused, nothing is written, and the task stays open', (t) => {
  const graph = buildGraph({ start, h: human(), end }, [
    ['start', 'h'],
    ['h', 'end', 'approved'],
  ]);
  const run = new TestRun(graph);
  const { state } = run;
  const seq = run.events.length;
  t.is(run.complete('h', { outcome: 'maybe', variables: { x: 1 } }), 'outcome-not-routable');
  t.is(run.complete('h', { variables: { x: 1 } }), 'outcome-not-routable');
  t.is(run.state, state);
  t.is(run.events.length, seq);
  t.is(run.complete('h', { outcome: 'approved' }), 'applied');
});

test('what was decided is never decided again: later variables change nothing', (t) => {
  const graph = buildGraph({ start, a: auto(), h: human(), b: auto(), c: auto(), end }, [
    ['start', 'a'],
    ['start', 'h'],
    ['a', 'b', ({ variables }) => variables.way !== 'c'],
    ['a', 'c', ({ variables }) => variables.way === 'c'],
    ['b', 'end'],
    ['c', 'end'],
    ['h', 'end'],
  ]);
  const run = new TestRun(graph);
  run.run('a');
  run.complete('h', { variables: { way: 'c' } });
  t.deepEqual(run.step('a').taken, [2]);
  t.like(run.statuses, { b: 'pending', c: 'skipped' });
});
