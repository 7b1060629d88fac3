import test from 'ava';
import { auto, buildGraph, chain, end, fork, human, start } from './graph-builder.ts';
import { TestRun } from './test-run.ts';

/* Results of steps, failures and retries (decisions 2.6). */

const exponential = { maxAttempts: 5, delayMs: 1000, backoff: 'exponential', maxDelayMs: 3000 } as const;

test('a result is stored with the step and told without its content', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  run.now += 10;
  run.apply({
    type: 'succeeded',
    fence: run.fence('n1'),
    output: { secret: 'x' },
    record: { status: 200 },
  });
  t.like(run.step('n1'), { status: 'completed', output: { secret: 'x' }, completedAt: run.now });
  const told = run.events.find(({ type, nodeId }) => type === 'step.completed' && nodeId === 'n1');
  t.deepEqual(told?.data, { attempt: 1, delivery: 1, record: { status: 200 } });
});

test('a failed attempt is repeated after a delay that doubles up to its maximum, until none is left', (t) => {
  const run = new TestRun(chain(1, auto({ retry: exponential })));
  const delays: number[] = [];
  for (const attempt of [1, 2, 3, 4]) {
    run.claim();
    run.fail('n1');
    t.like(run.step('n1'), { status: 'pending', attempt: attempt + 1, delivery: 0, error: null });
    t.is(run.state.status, 'running');
    delays.push(run.step('n1').readyAt! - run.now);
    const { data } = run.last('step.failed');
    t.deepEqual(data, {
      attempt,
      delivery: 1,
      error: { code: 'broken', message: 'n1 is broken', node: 'n1' },
      retry_at: new Date(run.step('n1').readyAt!).toISOString(),
    });
    run.now = run.step('n1').readyAt!;
  }
  t.deepEqual(delays, [1000, 2000, 3000, 3000]);
  run.claim();
  run.fail('n1');
  t.like(run.step('n1'), { status: 'failed', attempt: 5, completedAt: run.now });
  t.false('retry_at' in run.last('step.failed').data);
  t.is(run.state.status, 'paused');
});

test('a fixed delay stays the same', (t) => {
  const retry = { maxAttempts: 3, delayMs: 500, backoff: 'fixed', maxDelayMs: 10_000 } as const;
  const run = new TestRun(chain(1, auto({ retry })));
  for (let attempt = 1; attempt < 3; attempt += 1) {
    run.claim();
    run.fail('n1');
    t.is(run.step('n1').readyAt, run.now + 500);
    run.now += 500;
  }
});

test('the next attempt waits as long as the other side asked, up to the longest delay, and no shorter than without', (t) => {
  for (const backoff of ['fixed', 'exponential'] as const) {
    const retry = { maxAttempts: 4, delayMs: 500, backoff, maxDelayMs: 10_000 };
    for (const [asked, waits] of [
      [7_000, 7_000],
      [3_600_000, 10_000],
      [100, 500],
    ] as const) {
      const run = new TestRun(chain(1, auto({ retry })));
      run.claim();
      run.fail('n1', true, run.fence('n1'), asked);
      t.is(run.step('n1').readyAt, run.now + waits);
    }
  }
  const run = new TestRun(chain(1, auto()));
  run.claim();
  run.fail('n1', true, run.fence('n1'), 7_000);
  t.is(run.step('n1').status, 'failed');
});

test('a failure that would end alike is not repeated', (t) => {
  const run = new TestRun(chain(1, auto({ retry: exponential })));
  run.claim();
  run.fail('n1', false);
  t.like(run.step('n1'), { status: 'failed', attempt: 1 });
});

test('without a retry in the configuration nothing is repeated', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  run.fail('n1', true);
  t.is(run.step('n1').status, 'failed');
});

test('a retry that somebody orders counts as an attempt of the configured ones', (t) => {
  const run = new TestRun(chain(1, auto({ retry: { ...exponential, maxAttempts: 2 } })));
  run.claim();
  run.fail('n1', false);
  run.retry();
  run.claim();
  run.fail('n1');
  t.like(run.step('n1'), { status: 'failed', attempt: 2 });
});

test('the record of a failure is told with it', (t) => {
  const run = new TestRun(chain(1));
  run.claim();
  run.apply({
    type: 'failed',
    fence: run.fence('n1'),
    isRetryable: false,
    record: { status: 500 },
    error: { code: 'service_status', message: 'The service answered 500.' },
  });
  t.deepEqual(run.last('step.failed').data.record, { status: 500 });
});

test('a result of another attempt, another delivery, or another step changes nothing', (t) => {
  const run = new TestRun(chain(1, auto({ retry: { ...exponential, delayMs: 0 } })));
  run.claim();
  const first = run.fence('n1');
  run.lose();
  t.is(run.succeed('n1', {}, first), 'unchanged', 'not running');
  run.claim('w2');
  const second = run.fence('n1');
  t.is(run.succeed('n1', {}, first), 'unchanged', 'another delivery');
  run.fail('n1');
  run.claim('w2');
  t.is(run.fail('n1', true, second), 'unchanged', 'another attempt');
  t.is(run.succeed('n1', {}, { stepId: 'nobody', attempt: 2, delivery: 1 }), 'unchanged');
  const { state } = run;
  t.is(run.succeed('start', {}, { ...run.fence('start') }), 'unchanged');
  t.is(run.state, state);
  t.is(run.succeed('n1'), 'applied');
});

test('an output that does not fit into the data of the run fails the step, with the numbers', (t) => {
  const run = new TestRun(chain(2), { input: { text: 'x'.repeat(40) }, limits: { maxContext: 100 } });
  run.run('n1', { text: 'y'.repeat(20) });
  t.is(run.state.status, 'running');
  run.run('n2', { text: 'z'.repeat(20) });
  t.like(run.step('n2'), { status: 'failed', output: null });
  t.is(run.state.error?.code, 'context_too_large');
  // {"text":""} is 11, {} of variables and of start 2 each.
  t.regex(run.state.error!.message, /would be 117 characters of JSON; 100 characters are allowed/);
  run.retry();
  run.run('n2', { ok: true });
  t.is(run.state.status, 'completed');
});

test('the data of a run may have exactly as many characters as are allowed', (t) => {
  for (const [length, status] of [
    [13, 'completed'],
    [14, 'paused'],
  ] as const) {
    // 2 each for input, variables and start, and 11 around the text.
    const run = new TestRun(chain(1), { limits: { maxContext: 30 } });
    run.run('n1', { text: 'x'.repeat(length) });
    t.is(run.state.status, status);
  }
});

test('variables count to the data of the run when a step completes', (t) => {
  const graph = buildGraph({ start, h: human(), a: auto(), end }, [
    ['start', 'h'],
    ['h', 'a'],
    ['a', 'end'],
  ]);
  const run = new TestRun(graph, { limits: { maxContext: 60 } });
  run.complete('h', { variables: { text: 'x'.repeat(30) } });
  run.run('a', { text: 'y'.repeat(10) });
  t.is(run.state.error?.code, 'context_too_large');
});

test('an output that is nested too deeply to be written out fails the step', (t) => {
  let output: object = {};
  for (let depth = 0; depth < 200_000; depth += 1) output = { output };
  const run = new TestRun(chain(1));
  run.run('n1', output as never);
  t.is(run.state.error?.code, 'context_too_large');
  t.regex(run.state.error!.message, /nested too deeply/);
});

test('what templates insert into all steps together is bounded, and the step that is too much says so', (t) => {
  const large = auto({ fill: () => ({ input: { text: 'x'.repeat(40) }, missing: [] }) });
  const graph = buildGraph({ start, a: large, b: large, end }, [
    ['start', 'a'],
    ['a', 'b'],
    ['b', 'end'],
  ]);
  const run = new TestRun(graph, { limits: { maxContext: 100 } });
  run.run('a');
  run.claim();
  t.like(run.step('b'), { status: 'failed', input: null });
  t.is(run.state.error?.code, 'input_too_large');
  t.regex(run.state.error!.message, /102 characters of JSON, 100 are allowed/);
});

test('a task shows 64 Ki characters at most, and variables have 512 Ki', (t) => {
  const told = human({ fill: () => ({ input: { instructions: 'x'.repeat(70_000) }, missing: [] }) });
  t.is(new TestRun(chain(1, told), { limits: { maxContext: 9e6 } }).state.error?.code, 'input_too_large');
  const run = new TestRun(chain(1, human()), { limits: { maxContext: 9e6 } });
  t.is(run.complete('n1', { variables: { text: 'x'.repeat(530_000) } }), 'context-too-large');
  t.is(run.complete('n1', { variables: { text: 'x'.repeat(500_000) } }), 'applied');
});

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
  const run = new TestRun(fork(['a', 'b']));
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
