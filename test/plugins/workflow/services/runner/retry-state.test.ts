import test from 'ava';
import pino from 'pino';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import {
  Mailbox,
  type Message,
  PendingReply,
} from '../../../../../plugins/workflow/services/runner/mailbox.ts';
import { Pauses } from '../../../../../plugins/workflow/services/runner/pauses.ts';
import { RetryState } from '../../../../../plugins/workflow/services/runner/retry-state.ts';
import type { Answer } from '../../../../../plugins/workflow/services/runner/runner.ts';
import type { StepCall } from '../../../../../plugins/workflow/services/runner/step-call.ts';
import { NO_METRICS } from '../../no-metrics.ts';
import { ManualTime } from './manual-timers.ts';

const before = { revision: 7 } as RunState;
const away = new Error('away');

class NoPauses extends Pauses {
  readonly lengths: number[] = [];

  override async pause(ms: number): Promise<void> {
    this.lengths.push(ms);
  }
}

/** A retry state that waits for nothing: the lengths of its pauses are noted. */
function setUp() {
  const timers = new ManualTime().timers();
  const pauses = new NoPauses(timers);
  const warnings: string[] = [];
  const mailbox = new Mailbox(timers);
  const nothing = () => {};
  const retries = new RetryState(
    {
      metrics: NO_METRICS.runner,
      pauses,
      log: pino({}, { write: (line) => void warnings.push(line) }),
      databaseFailed: () => {},
    },
    { tenantId: 'tenant', runId: 'run' },
    {
      mailbox,
      slots: { giveBackKept: nothing, giveBackGranted: nothing },
      cache: { invalidate: nothing },
    },
  );
  const conflict = async (times: number, batch: readonly Message[] = []) => {
    for (let count = 0; count < times; count += 1) await retries.conflicted(batch);
  };
  const fail = async (times: number) => {
    for (let count = 0; count < times; count += 1) await retries.failed(away, () => true);
  };
  return { retries, mailbox, warnings, conflict, fail, lengths: pauses.lengths };
}

function asked(): Message & { readonly reply: PendingReply<Answer | undefined> } {
  const reply = new PendingReply<Answer | undefined>(new ManualTime().timers());
  reply.answer.catch(() => {});
  return { command: { type: 'cancel', by: 'anna' }, reply, arrived: 0, conflicts: 0, rejections: 0 };
}

function result(): Message {
  const fence = { stepId: 'step', attempt: 1, delivery: 1 };
  const call = { fence } as StepCall;
  return { command: { type: 'succeeded', fence, output: {} }, call, arrived: 0, conflicts: 0, rejections: 0 };
}

test('after the first conflict the next try comes at once, then later and later, within a bound', async (t) => {
  const { conflict, lengths } = setUp();
  await conflict(1);
  t.deepEqual(lengths, []);
  await conflict(10);
  t.deepEqual(lengths, [1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
});

test('failures back off by themselves', async (t) => {
  const { conflict, fail, lengths } = setUp();
  await conflict(2);
  await fail(9);
  t.deepEqual(lengths, [1, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  await conflict(1);
  t.is(lengths.at(-1), 2);
});

test('a failure waits for nothing when there is nothing to try', async (t) => {
  const { retries, lengths } = setUp();
  await retries.failed(away, () => false);
  t.deepEqual(lengths, []);
});

test('polls are answered after more than ten conflicts in a row, and after a failure', async (t) => {
  const { mailbox, conflict, fail } = setUp();
  const contended = mailbox.poll();
  await conflict(10);
  t.true(mailbox.isPolled);
  await conflict(1);
  t.false(await contended);
  const failing = mailbox.poll();
  await fail(1);
  t.false(await failing);
});

test('a caller is answered that the run is busy after his own eleventh conflict; a result is never given up', async (t) => {
  const { mailbox, conflict } = setUp();
  const early = asked();
  const late = asked();
  const ended = result();
  await conflict(1, [early, ended]);
  await conflict(9, [early, ended, late]);
  t.false(early.reply.isSettled);
  await conflict(1, [early, ended, late]);
  await t.throwsAsync(early.reply.answer, { code: 'workflow.busy' });
  t.false(late.reply.isSettled);
  t.is(ended.conflicts, 11);
  t.false(mailbox.take(before, false).includes(early));
});

test('a rejected write is suspicious; it is in doubt only when the database was asked', (t) => {
  const { retries } = setUp();
  retries.rejected([], before, away, false);
  t.true(retries.isSuspicious);
  t.false(retries.isInDoubt);
  retries.rejected([], before, away, true);
  t.true(retries.isInDoubt);
  // A later one that was not sent takes no doubt away.
  retries.rejected([], before, away, false);
  t.true(retries.isInDoubt);
});

test('of a rejected write is noted which revision it was for, and why', (t) => {
  const { retries } = setUp();
  const message = asked();
  retries.rejected([message, result()], before, away, true);
  t.deepEqual(message.doubt, { revision: 7, error: away });
  t.is(message.reply.reason, away);
});

test('a write that is rejected alone comes after the others, one in company before them', (t) => {
  const { retries, mailbox } = setUp();
  const [first, second] = [result(), result()];
  retries.rejected([first], before, away, true);
  retries.rejected([second], before, away, true);
  t.deepEqual(mailbox.take(before, false), [first, second]);
  retries.rejected([first], before, away, true);
  retries.rejected([second, second], before, away, true);
  t.deepEqual(mailbox.take(before, false), [second, second, first]);
});

test('a result that is rejected alone again and again gets a failure in its place, in company never', (t) => {
  const { retries } = setUp();
  const alone = result();
  const tries = Array.from({ length: 16 }, () => retries.rejected([alone], before, away, true));
  t.is(tries.indexOf(true), 15);
  t.is(alone.command.type, 'failed');
  const company = [result(), result()];
  for (let rejection = 0; rejection < 40; rejection += 1)
    t.false(retries.rejected(company, before, away, true));
});

test('a transition that goes well ends everything but the doubt, which a read ends', async (t) => {
  const { retries, warnings, mailbox, conflict, fail, lengths } = setUp();
  await conflict(11);
  await fail(2);
  retries.rejected([], before, away, true);
  t.is(warnings.length, 1);
  retries.recovered();
  t.like(retries, { isSuspicious: false, isInDoubt: true });
  const poll = mailbox.poll();
  const count = lengths.length;
  await conflict(1);
  t.is(lengths.length, count);
  t.true(mailbox.isPolled);
  await fail(1);
  t.is(lengths.at(-1), 50);
  t.is(warnings.length, 2);
  t.false(await poll);
  retries.clarified();
  t.false(retries.isInDoubt);
});

test('a read that says what is stored makes no write less suspicious, and ends no failure', async (t) => {
  const { retries, warnings, fail, lengths } = setUp();
  retries.rejected([], before, away, true);
  await fail(1);
  retries.clarified();
  t.true(retries.isSuspicious);
  await fail(1);
  t.deepEqual(lengths, [50, 100]);
  t.is(warnings.length, 1);
});

test('a start of which the answer was lost is in doubt, and nothing else', async (t) => {
  const { retries, fail, lengths } = setUp();
  retries.createdInDoubt();
  t.like(retries, { isInDoubt: true, isSuspicious: false });
  await fail(1);
  t.deepEqual(lengths, [50]);
});
