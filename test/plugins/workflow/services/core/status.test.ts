import test from 'ava';
import fc from 'fast-check';
import type { StepStatus } from '../../../../../plugins/workflow/contract/runs.ts';
import { isTerminal, type StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import { statusOf, tallyOf } from '../../../../../plugins/workflow/services/core/status.ts';
import { auto, buildGraph, chain, end, human, start } from './graph-builder.ts';
import { T0, TestRun } from './test-run.ts';

const retry = { maxAttempts: 3, delayMs: 5000, backoff: 'fixed', maxDelayMs: 5000 } as const;

test('steps that nobody has claimed wake at once; claimed ones are the business of the owner', (t) => {
  const run = new TestRun(chain(2));
  t.is(run.state.wakeAt, T0);
  run.claim();
  t.is(run.state.wakeAt, null);
  run.now += 10;
  run.succeed('n1');
  t.is(run.state.wakeAt, T0 + 10);
});

test('a step that waits for its next attempt wakes when that begins', (t) => {
  const run = new TestRun(chain(1, auto({ retry })));
  run.claim();
  run.fail('n1');
  t.is(run.state.wakeAt, T0 + 5000);
});

test('the earliest of all times counts; that of a task also beside an owner', (t) => {
  const graph = buildGraph(
    {
      start,
      a: auto({ retry }),
      b: auto(),
      h: human({ timeoutMs: 9000 }),
      i: human({ timeoutMs: 7000 }),
      end,
    },
    [
      ['start', 'a'],
      ['start', 'b'],
      ['start', 'h'],
      ['start', 'i'],
      ['a', 'end'],
      ['b', 'end'],
      ['h', 'end'],
      ['i', 'end'],
    ],
  );
  const run = new TestRun(graph);
  t.is(run.state.wakeAt, T0, 'pending');
  run.claim();
  t.is(run.state.wakeAt, T0 + 7000, 'owned');
  run.fail('a');
  t.is(run.state.wakeAt, T0 + 7000, 'pending, and owned');
  run.succeed('b');
  t.is(run.state.wakeAt, T0 + 5000, 'pending for the next attempt');
  run.complete('i');
  t.is(run.state.wakeAt, T0 + 5000);
  run.now += 5000;
  run.claim();
  t.is(run.state.wakeAt, T0 + 9000);
  run.fail('a', false);
  t.is(run.state.wakeAt, T0 + 9000, 'paused');
  run.cancel();
  t.is(run.state.wakeAt, null);
});

test('a time that is over stays as it is while there is still something to do', (t) => {
  const graph = buildGraph({ start, a: auto(), h: human(), end }, [
    ['start', 'a'],
    ['start', 'h'],
    ['a', 'end'],
    ['h', 'end'],
  ]);
  const run = new TestRun(graph);
  run.now += 100;
  run.complete('h');
  t.is(run.state.wakeAt, T0);
});

test('a time that is over goes when there is nothing left to do', (t) => {
  const graph = buildGraph({ start, h: human({ timeoutMs: 10 }), i: human({ timeoutMs: 500 }), end }, [
    ['start', 'h'],
    ['start', 'i'],
    ['h', 'end', 'timeout'],
    ['i', 'end', 'timeout'],
  ]);
  const run = new TestRun(graph);
  run.tick(100);
  t.is(run.state.wakeAt, T0 + 500);
  run.tick(500);
  t.is(run.state.wakeAt, null);
});

const status = fc.constantFrom<StepStatus>(
  ...(['pending', 'running', 'waiting', 'completed', 'failed', 'skipped'] as const),
);

test('any failed → paused; else any pending or running → running; else any waiting → waiting; else completed', (t) => {
  fc.assert(
    fc.property(fc.array(status, { maxLength: 6 }), (statuses) => {
      const expected = statuses.includes('failed')
        ? 'paused'
        : statuses.some((one) => one === 'pending' || one === 'running')
          ? 'running'
          : statuses.includes('waiting')
            ? 'waiting'
            : 'completed';
      t.is(statusOf(tallyOf(statuses.map((one) => ({ status: one, error: null }) as StepState))), expected);
    }),
  );
});

test('completed and cancelled are final, and nothing else', (t) => {
  const all = ['running', 'waiting', 'paused', 'completed', 'cancelled'] as const;
  t.deepEqual(all.filter(isTerminal), ['completed', 'cancelled']);
});
