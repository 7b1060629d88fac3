import test from 'ava';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { Effect } from '../../../../../plugins/workflow/services/runner/effect.ts';
import { type Answer, Asker, type Entry } from '../../../../../plugins/workflow/services/runner/entry.ts';
import { Setbacks } from '../../../../../plugins/workflow/services/runner/setbacks.ts';
import { ManualTime } from './manual-timers.ts';

const before = { revision: 7 } as RunState;
const away = new Error('away');

function asked(): Entry & { readonly asker: Asker<Answer | undefined> } {
  const asker = new Asker<Answer | undefined>(new ManualTime().timers());
  asker.answer.catch(() => {});
  return { occurrence: { type: 'cancel', by: 'anna' }, asker, arrived: 0, conflicts: 0, rejections: 0 };
}

function result(): Entry {
  const fence = { stepId: 'step', attempt: 1, delivery: 1 };
  const effect = { fence } as Effect;
  return {
    occurrence: { type: 'succeeded', fence, output: {} },
    ...{ effect, arrived: 0, conflicts: 0, rejections: 0 },
  };
}

test('after the first conflict the next try comes at once, then later and later, within a bound', (t) => {
  const setbacks = new Setbacks();
  const pauses = Array.from({ length: 11 }, () => setbacks.conflicted([]));
  t.deepEqual(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
});

test('failures back off by themselves', (t) => {
  const setbacks = new Setbacks();
  setbacks.conflicted([]);
  setbacks.conflicted([]);
  const pauses = Array.from({ length: 9 }, () => setbacks.failed());
  t.deepEqual(pauses, [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  t.is(setbacks.conflicted([]), 2);
});

test('a run is contended after more than ten conflicts in a row', (t) => {
  const setbacks = new Setbacks();
  for (let conflict = 1; conflict <= 10; conflict += 1) setbacks.conflicted([]);
  t.false(setbacks.isContended);
  setbacks.conflicted([]);
  t.true(setbacks.isContended);
});

test('who asked is told that the run is busy after his own eleventh conflict; a result is never given up', async (t) => {
  const setbacks = new Setbacks();
  const early = asked();
  const late = asked();
  const ended = result();
  setbacks.conflicted([early, ended]);
  for (let conflict = 2; conflict <= 10; conflict += 1) setbacks.conflicted([early, ended, late]);
  t.false(early.asker.isSettled);
  setbacks.conflicted([early, ended, late]);
  await t.throwsAsync(early.asker.answer, { code: 'workflow.busy' });
  t.false(late.asker.isSettled);
  t.is(ended.conflicts, 11);
});

test('a rejected write is suspicious; it is in doubt only when the database was asked', (t) => {
  const setbacks = new Setbacks();
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
  const setbacks = new Setbacks();
  const entry = asked();
  setbacks.rejected([entry, result()], before, away, true);
  t.deepEqual(entry.doubt, { revision: 7, error: away });
  t.is(entry.asker.reason, away);
});

test('a result that is rejected alone again and again gets a failure in its place, in company never', (t) => {
  const setbacks = new Setbacks();
  const alone = result();
  const tries = Array.from({ length: 16 }, () => setbacks.rejected([alone], before, away, true));
  t.is(tries.indexOf(true), 15);
  t.is(alone.occurrence.type, 'failed');
  const company = [result(), result()];
  for (let rejection = 0; rejection < 40; rejection += 1)
    t.false(setbacks.rejected(company, before, away, true));
});

test('a transition that goes well ends everything but the doubt, which a read ends', (t) => {
  const setbacks = new Setbacks();
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
  const setbacks = new Setbacks();
  setbacks.rejected([], before, away, true);
  setbacks.failed();
  setbacks.clarified();
  t.true(setbacks.isSuspicious);
  t.true(setbacks.isFailing);
});

test('a start of which the answer was lost is in doubt, and nothing else', (t) => {
  const setbacks = new Setbacks();
  setbacks.startedInDoubt();
  t.like(setbacks, { isInDoubt: true, isSuspicious: false, isFailing: false });
});
