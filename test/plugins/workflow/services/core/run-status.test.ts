import test from 'ava';
import fc from 'fast-check';
import type { StepStatus } from '../../../../../plugins/workflow/contract/runs.ts';
import {
  isTerminal,
  type StepState,
  statusOf,
  tallyOf,
} from '../../../../../plugins/workflow/services/core/state.ts';

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
