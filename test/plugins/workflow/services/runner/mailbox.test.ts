import test from 'ava';
import pino from 'pino';
import type { Verdict } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import {
  Mailbox,
  type Message,
  PendingReply,
  settle,
} from '../../../../../plugins/workflow/services/runner/mailbox.ts';
import type { Answer } from '../../../../../plugins/workflow/services/runner/runner.ts';
import type { StepCall } from '../../../../../plugins/workflow/services/runner/step-call.ts';
import { NO_METRICS } from '../../no-metrics.ts';
import { ManualTime } from './manual-timers.ts';

const state = { tenantId: 'tenant', id: 'run' } as RunState;
const fence = { stepId: 'step', attempt: 1, delivery: 1 };
const call = { fence } as StepCall;
const none = { arrived: 0, conflicts: 0, rejections: 0 };
const succeeded: Message = { command: { type: 'succeeded', fence, output: {} }, call, ...none };
const released: Message = { command: { type: 'released', fence }, call, ...none };

/** What is heard of the end of a message. */
function heard(message: Message, verdict: Verdict) {
  const settled: StepCall[] = [];
  const log: unknown[] = [];
  let late = 0;
  const metrics = {
    ...NO_METRICS.runner,
    late: () => {
      late += 1;
    },
  };
  const core = { metrics, log: pino({}, { write: (line) => void log.push(JSON.parse(line)) }) };
  settle(core, { settled: (one) => void settled.push(one) }, message, { state, verdict });
  return { settled, late, log };
}

test('a caller gets what came of its command', async (t) => {
  const time = new ManualTime();
  const reply = new PendingReply<Answer | undefined>(time.timers());
  const message: Message = { command: { type: 'cancel', by: 'anna' }, reply, ...none };
  t.deepEqual(heard(message, 'unchanged'), { settled: [], late: 0, log: [] });
  t.deepEqual(await reply.answer, { state, verdict: 'unchanged' });
  t.is(time.waiting, 0);
});

test('a result is in flight no more, stored or late; late ones are counted', (t) => {
  t.deepEqual(heard(succeeded, 'applied'), { settled: [call], late: 0, log: [] });
  t.deepEqual(heard(succeeded, 'unchanged'), { settled: [call], late: 1, log: [] });
});

test('what is given back is no late result', (t) => {
  t.deepEqual(heard(released, 'unchanged'), { settled: [call], late: 0, log: [] });
});

test('a failure that was stored in the place of a result is logged with the step', (t) => {
  const { command } = succeeded;
  const { log } = heard({ ...succeeded, original: { command, also: undefined } }, 'applied');
  t.is(log.length, 1);
  t.like(log[0], { tenant_id: 'tenant', run_id: 'run', step_id: 'step' });
});

test('all who wait are answered together, each once', async (t) => {
  const mailbox = new Mailbox(new ManualTime().timers());
  const polls = [mailbox.poll(), mailbox.poll()];
  mailbox.polled(true);
  mailbox.polled(false);
  t.deepEqual(await Promise.all(polls), [true, true]);
  t.false(mailbox.isPolled);
  t.true(mailbox.isEmpty);
});

test('who comes later waits for the next poll', async (t) => {
  const mailbox = new Mailbox(new ManualTime().timers());
  const first = mailbox.poll();
  mailbox.polled(true);
  const second = mailbox.poll();
  t.true(mailbox.isPolled);
  t.false(mailbox.isEmpty);
  mailbox.polled(false);
  t.deepEqual(await Promise.all([first, second]), [true, false]);
});
