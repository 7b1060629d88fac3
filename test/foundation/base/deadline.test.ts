import events from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { linkSignals, startLifetime } from '../../../foundation/base/deadline.ts';
import { until } from '../../support/until.ts';

const overdue = () => new Error('too late');

test('a linked signal aborts with the first of the others, and has its reason', (t) => {
  const [one, other] = [new AbortController(), new AbortController()];
  using linked = linkSignals(one.signal, undefined, other.signal);
  t.false(linked.signal.aborted);
  other.abort('enough');
  one.abort('later');
  t.is(linked.signal.reason, 'enough');
  using late = linkSignals(one.signal, other.signal);
  t.is(late.signal.reason, 'later', 'of those that are aborted already the first');
});

test('a linked signal has what becomes of a reason, or the reason that it is given', (t) => {
  const [caller, lease] = [new AbortController(), new AbortController()];
  const begin = () => linkSignals(caller.signal, [lease.signal, (reason) => `lost: ${reason}`]);
  using linked = begin();
  using own = begin();
  own.abort('mine');
  lease.abort('taken');
  t.is(linked.signal.reason, 'lost: taken');
  t.is(own.signal.reason, 'mine');
  using late = begin();
  t.is(late.signal.reason, 'lost: taken');
});

test('a linked signal that has let go is no business of the others', (t) => {
  const caller = new AbortController();
  const listeners = () => events.getEventListeners(caller.signal, 'abort').length;
  const linked = linkSignals(caller.signal, new AbortController().signal);
  t.is(listeners(), 1);
  linked.end();
  linked.end();
  t.is(listeners(), 0);
  caller.abort();
  t.false(linked.signal.aborted);
  linked.abort('mine');
  t.is(linked.signal.reason, 'mine');
});

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
