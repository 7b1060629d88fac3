import test from 'ava';
import pino from 'pino';
import type { Verdict } from '../../../../../plugins/workflow/services/core/occurrence.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/run-state.ts';
import { NO_OBSERVER } from '../../../../../plugins/workflow/services/ports/runner-observer.ts';
import {
  type Answer,
  type Message,
  PendingReply,
  settle,
} from '../../../../../plugins/workflow/services/runner/mailbox.ts';
import type { StepCall } from '../../../../../plugins/workflow/services/runner/step-call.ts';
import { ManualTime } from './manual-timers.ts';

const state = { tenantId: 'tenant', id: 'run' } as RunState;
const fence = { stepId: 'step', attempt: 1, delivery: 1 };
const effect = { fence } as StepCall;
const none = { arrived: 0, conflicts: 0, rejections: 0 };
const succeeded: Message = { command: { type: 'succeeded', fence, output: {} }, call, ...none };
const released: Message = { command: { type: 'released', fence }, call, ...none };

/** What is heard of the end of an entry. */
function heard(entry: Message, verdict: Verdict) {
  const settled: StepCall[] = [];
  const log: unknown[] = [];
  let late = 0;
  const observer = {
    ...NO_OBSERVER,
    late: () => {
      late += 1;
    },
  };
  const core = { observer, log: pino({}, { write: (line) => void log.push(JSON.parse(line)) }) };
  settle(core, { settled: (one) => void settled.push(one) }, entry, { state, verdict });
  return { settled, late, log };
}

test('whoever asked is told what came of it', async (t) => {
  const time = new ManualTime();
  const asker = new PendingReply<Answer | undefined>(time.timers());
  const entry: Message = { command: { type: 'cancel', by: 'anna' }, reply, ...none };
  t.deepEqual(heard(entry, 'unchanged'), { settled: [], late: 0, log: [] });
  t.deepEqual(await asker.answer, { state, verdict: 'unchanged' });
  t.is(time.waiting, 0);
});

test('a result leaves the hand, stored or late; late ones are counted', (t) => {
  t.deepEqual(heard(succeeded, 'applied'), { settled: [effect], late: 0, log: [] });
  t.deepEqual(heard(succeeded, 'unchanged'), { settled: [effect], late: 1, log: [] });
});

test('what is given back is no late result', (t) => {
  t.deepEqual(heard(released, 'unchanged'), { settled: [effect], late: 0, log: [] });
});

test('a failure that was stored in the place of a result is logged with the step', (t) => {
  const { command } = succeeded;
  const { log } = heard({ ...succeeded, original: { command, also: undefined } }, 'applied');
  t.is(log.length, 1);
  t.like(log[0], { tenant_id: 'tenant', run_id: 'run', step_id: 'step' });
});
