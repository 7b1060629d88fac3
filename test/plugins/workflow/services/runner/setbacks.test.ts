import test from 'ava';
import type { RunState } from '../../../../../plugins/workflow/services/core/run-state.ts';
import {
  type Answer,
  type Message,
  PendingReply,
} from '../../../../../plugins/workflow/services/runner/mailbox.ts';
import { RetryState } from '../../../../../plugins/workflow/services/runner/retry-state.ts';
import type { StepCall } from '../../../../../plugins/workflow/services/runner/step-call.ts';
import { ManualTime } from './manual-timers.ts';

const before = { revision: 7 } as RunState;
const away = new Error('away');

function asked(): Message & { readonly asker: PendingReply<Answer | undefined> } {
  const asker = new PendingReply<Answer | undefined>(new ManualTime().timers());
  asker.answer.catch(() => {});
  return { command: { type: 'cancel', by: 'anna' }, reply, arrived: 0, conflicts: 0, rejections: 0 };
}

function result(): Message {
  const fence = { stepId: 'step', attempt: 1, delivery: 1 };
  const effect = { fence } as StepCall;
  return {
    command: { type: 'succeeded', fence, output: {} },
    ...{ call, arrived: 0, conflicts: 0, rejections: 0 },
  };
}

test('after the first conflict the next try comes at once, then later and later, within a bound', (t) => {
  const setbacks = new RetryState();
  const pauses = Array.from({ length: 11 }, () => setbacks.conflicted([]));
  t.deepEqual(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
});

test('failures back off by themselves', (t) => {
  const setbacks = new RetryState();
  setbacks.conflicted([]);
  setbacks.conflicted([]);
  const pauses = Array.from({ length: 9 }, () => setbacks.failed());
  t.deepEqual(pauses, [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  t.is(setbacks.conflicted([]), 2);
});

test('a run is contended after more than ten conflicts in a row', (t) => {
  const setbacks = new RetryState();
  for (let conflict = 1; conflict <= 10; conflict += 1) setbacks.conflicted([]);
  t.false(setbacks.isContended);
  setbacks.conflicted([]);
  t.true(setbacks.isContended);
});

test('who asked is told that the run is busy after his own eleventh conflict; a result is never given up', async (t) => {
  const setbacks = new RetryState();
  const early = asked();
  const late = asked();
  const ended = result();
  setbacks.conflicted([early, ended]);
  for (let conflict = 2; conflict <= 10; conflict += 1) setbacks.conflicted([early, ended, late]);
  t.false(early.reply.isSettled);
  setbacks.conflicted([early, ended, late]);
  await t.throwsAsync(early.reply.answer, { code: 'workflow.busy' });
  t.false(late.reply.isSettled);
  t.is(ended.conflicts, 11);
});

test('a rejected write is suspicious; it is in doubt only when the database was asked', (t) => {
  const setbacks = new RetryState();
  setbacks.rejected([], before, away, false);
  t.true(setbacks.isSuspicious);
  t.false(setbacks.isInDoubt);
  setbacks.rejected([], before, away, true);
  t.true(setbacks.isInDoubt);
  // A later one that was not sent takes no doubt away.
  setbacks.rejected([], before, away, false);
  t.true(setbacks.isInDoubt);
});

test('of a rejected write is noted which revision it was for, and why', (t) => {
  const setbacks = new RetryState();
  const entry = asked();
  setbacks.rejected([entry, result()], before, away, true);
  t.deepEqual(entry.doubt, { revision: 7, error: away });
  t.is(entry.reply.reason, away);
});

test('a result that is rejected alone again and again gets a failure in its place, in company never', (t) => {
  const setbacks = new RetryState();
  const alone = result();
  const tries = Array.from({ length: 16 }, () => setbacks.rejected([alone], before, away, true));
  t.is(tries.indexOf(true), 15);
  t.is(alone.command.type, 'failed');
  const company = [result(), result()];
  for (let rejection = 0; rejection < 40; rejection += 1)
    t.false(setbacks.rejected(company, before, away, true));
});

test('a transition that goes well ends everything but the doubt, which a read ends', (t) => {
  const setbacks = new RetryState();
  for (let conflict = 1; conflict <= 11; conflict += 1) setbacks.conflicted([]);
  setbacks.failed();
  setbacks.failed();
  setbacks.rejected([], before, away, true);
  t.true(setbacks.isFailing);
  setbacks.recovered();
  t.like(setbacks, { isSuspicious: false, isContended: false, isFailing: false, isInDoubt: true });
  t.is(setbacks.failed(), 50);
  t.is(setbacks.conflicted([]), 0);
  setbacks.clarified();
  t.false(setbacks.isInDoubt);
});

test('a read that says what is stored makes no write less suspicious', (t) => {
  const setbacks = new RetryState();
  setbacks.rejected([], before, away, true);
  setbacks.failed();
  setbacks.clarified();
  t.true(setbacks.isSuspicious);
  t.true(setbacks.isFailing);
});

test('a start of which the answer was lost is in doubt, and nothing else', (t) => {
  const setbacks = new RetryState();
  setbacks.startedInDoubt();
  t.like(setbacks, { isInDoubt: true, isSuspicious: false, isFailing: false });
});
