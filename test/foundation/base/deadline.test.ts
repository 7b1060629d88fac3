import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { startLifetime } from '../../../foundation/base/deadline.ts';
import { until } from '../../support/until.ts';

const overdue = () => new Error('too late');

test('a lifetime ends with its time', async (t) => {
  using life = startLifetime(undefined, 1, overdue);
  await until(() => life.signal.aborted);
  t.is(life.signal.reason.message, 'too late');
});

test('a lifetime ends with its caller, and has the reason of that', (t) => {
  const caller = new AbortController();
  using life = startLifetime(caller.signal, 60_000, overdue);
  caller.abort('enough');
  life.abort('later');
  t.is(life.signal.reason, 'enough');
  using late = startLifetime(caller.signal, 60_000, overdue);
  t.is(late.signal.reason, 'enough');
});

test('a lifetime that has ended by itself is no business of its caller', (t) => {
  const caller = new AbortController();
  const life = startLifetime(caller.signal, 60_000, overdue);
  life.end();
  life.end();
  caller.abort();
  t.false(life.signal.aborted);
});

test('a lifetime without its timer is its caller’s alone', async (t) => {
  const caller = new AbortController();
  using life = startLifetime(caller.signal, 1, overdue);
  life.stopTimer();
  await pause(5);
  t.false(life.signal.aborted);
  caller.abort('enough');
  t.is(life.signal.reason, 'enough');
});

test('a lifetime may be longer than a timer of Node', async (t) => {
  using life = startLifetime(undefined, Number.POSITIVE_INFINITY, overdue);
  await pause(5);
  t.false(life.signal.aborted);
});
