import { getEventListeners } from 'node:events';
import test from 'ava';
import { until } from '../../../../support/until.ts';
import { keepingSink, relayOver } from './relay-kit.ts';

const SEQS = [1, 2, 3, 4, 5];
const fails = () => Promise.reject(new Error('away'));

test('events reach each sink that wants them once, as wire records of their run', async (t) => {
  const [hooks, bus, other] = [keepingSink('hooks'), keepingSink('bus'), keepingSink('other')];
  other.state.wants = (tenantId) => tenantId === 'somebody else';
  const { add, round, waiting } = relayOver([hooks.sink, bus.sink, other.sink]);
  add('run-1', 2);
  await round();
  t.deepEqual(hooks.got[0], {
    ...{ tenant_id: 'tenant', run_id: 'run-1', definition_id: 'invoices' },
    ...{ seq: 1, type: 'step.started', node_id: 'a', data: {}, created_at: '2023-11-14T22:13:20.000Z' },
  });
  t.deepEqual([hooks.seqs(), bus.seqs(), other.seqs()], [[1, 2], [1, 2], []]);
  t.is(waiting.size, 0);
  await round();
  t.is(hooks.state.calls, 1);
});

test('what fails comes again after 1, 5, 30 and 120 seconds, later and later, after an hour at most', async (t) => {
  const hooks = keepingSink('hooks', fails);
  const { add, round, clock, postponed, waiting } = relayOver([hooks.sink]);
  add('run-1', 1);
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await round();
    t.is(hooks.state.calls, attempt);
    // Not a moment earlier.
    clock.advance(postponed.at(-1)! - 1);
    await round();
    t.is(hooks.state.calls, attempt);
    clock.advance(1);
  }
  t.deepEqual(
    postponed.map((ms) => ms / 1_000),
    [1, 5, 30, 120, 300, 900, 1_800, 3_600, 3_600, 3_600],
  );
  t.is(waiting.size, 1);
});

test('a sink gets all events of a run once and at once, however long another one fails', async (t) => {
  let isAway = true;
  const [hooks, bus] = [keepingSink('hooks', () => (isAway ? fails() : undefined)), keepingSink('bus')];
  const { add, round, clock, waiting } = relayOver([hooks.sink, bus.sink]);
  add('run-1', 2);
  for (let attempt = 0; attempt < 4; attempt += 1) {
    await round();
    clock.advance(3_600_000);
  }
  t.deepEqual(bus.seqs(), [1, 2]);
  await round();
  add('run-1', 5);
  await round();
  t.deepEqual([hooks.seqs(), bus.seqs()], [[], [1, 2, 3, 4, 5]]);
  isAway = false;
  clock.advance(3_600_000);
  await round();
  t.deepEqual([hooks.seqs(), bus.seqs()], [SEQS, SEQS]);
  t.is(waiting.size, 0);
});

test('no more than 32 runs are under way at one time, and the rest follows', async (t) => {
  const gate = Promise.withResolvers<void>();
  const hooks = keepingSink('hooks', () => gate.promise);
  const { add, relay, end } = relayOver([hooks.sink]);
  for (let run = 0; run < 100; run += 1) add(`run-${run}`, 1, `tenant-${run % 20}`);
  const all = relay.relay(end.signal);
  await until(() => hooks.state.calls === 32);
  gate.resolve();
  await all;
  await relay.idle();
  t.is(hooks.got.length, 100);
});

test('events of a run are delivered in order, however often somebody asks', async (t) => {
  const turns: (() => void)[] = [];
  let running = 0;
  const hooks = keepingSink('hooks', async () => {
    running += 1;
    t.is(running, 1);
    await new Promise<void>((resolve) => turns.push(resolve));
    running -= 1;
  });
  const { add, relay, end, waiting } = relayOver([hooks.sink]);
  add('run-1', 1);
  await relay.relay(end.signal);
  for (let seq = 2; seq <= 6; seq += 1) {
    add('run-1', seq);
    await Promise.all([relay.relay(end.signal), relay.relay(end.signal)]);
  }
  while (waiting.size > 0) {
    await until(() => turns.length > 0);
    turns.shift()!();
    await until(() => turns.length > 0 || waiting.size === 0);
  }
  await relay.idle();
  t.deepEqual(hooks.seqs(), [1, 2, 3, 4, 5, 6]);
});

test('what came for a run while its events were under way is delivered without another call', async (t) => {
  const gate = Promise.withResolvers<void>();
  const hooks = keepingSink('hooks', () => gate.promise);
  const { add, relay, end } = relayOver([hooks.sink]);
  add('run-1', 1);
  await relay.relay(end.signal);
  add('run-1', 2);
  await relay.relay(end.signal);
  gate.resolve();
  await until(() => hooks.got.length === 2);
  t.deepEqual(hooks.seqs(), [1, 2]);
});

test('while no sink is there events wait, and come when one is', async (t) => {
  const hooks = keepingSink('hooks');
  const { addFor, round, live, clock } = relayOver([]);
  addFor(['hooks'], 'run-1', 1, 'tenant');
  await round();
  live.sinks = [hooks.sink];
  clock.advance(1_000);
  await round();
  t.deepEqual(hooks.seqs(), [1]);
});

test('what was noted is delivered, whatever the sink wants by then', async (t) => {
  const hooks = keepingSink('hooks');
  const { add, round, waiting } = relayOver([hooks.sink]);
  add('run-1', 1);
  hooks.state.wants = () => false;
  await round();
  t.is(waiting.size, 0);
  t.deepEqual(hooks.seqs(), [1]);
});

test('events of a run that is gone are forgotten', async (t) => {
  const hooks = keepingSink('hooks');
  const { add, round, waiting, gone } = relayOver([hooks.sink]);
  gone.add('run-2');
  add('run-2', 1);
  await round();
  t.is(waiting.size, 0);
  t.is(hooks.state.calls, 0);
});

test('the end of the process ends deliveries, and gives the events back at once', async (t) => {
  const ended: unknown[] = [];
  const hooks = keepingSink('hooks', (_events, signal) => {
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(ended.push(signal.reason))),
    );
  });
  const { add, relay, end, postponed, givenBack, counted, waiting } = relayOver([hooks.sink]);
  add('run-1', 1);
  await relay.relay(end.signal);
  await until(() => hooks.state.calls === 1);
  end.abort();
  await relay.idle();
  t.is(ended.length, 1);
  t.deepEqual([postponed, givenBack], [[], [0]]);
  t.is(waiting.get('hooks run-1')?.attempts, 0);
  t.deepEqual(counted, []);
});

test('an outbox that is away rejects the call, and what is under way ends', async (t) => {
  const hooks = keepingSink('hooks');
  const { add, relay, round, end, state } = relayOver([hooks.sink]);
  state.failure = new Error('away');
  await t.throwsAsync(relay.relay(end.signal), { message: 'away' });
  state.failure = undefined;
  add('run-1', 1);
  await round();
  t.deepEqual(hooks.seqs(), [1]);
});

test('what a look takes when the process ends is given back, and the end waits for that', async (t) => {
  const gate = Promise.withResolvers<void>();
  const hooks = keepingSink('hooks');
  const { add, relay, end, state, givenBack, waiting } = relayOver([hooks.sink]);
  add('run-1', 1);
  state.gate = gate.promise;
  void relay.relay(end.signal);
  await until(() => state.takes === 1);
  end.abort();
  let isIdle = false;
  const idle = relay.idle().then(() => {
    isIdle = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.false(isIdle);
  gate.resolve();
  await idle;
  t.is(hooks.state.calls, 0);
  t.deepEqual(givenBack, [0]);
  t.is(waiting.get('hooks run-1')?.attempts, 0);
});

test('the signal of a delivery ends with it, whatever listens there', async (t) => {
  const signals: AbortSignal[] = [];
  let heard = 0;
  const hooks = keepingSink('hooks', (_events, signal) => {
    signals.push(signal);
    signal.addEventListener('abort', () => {
      heard += 1;
    });
  });
  const { add, round, end } = relayOver([hooks.sink]);
  add('run-1', 1);
  await round();
  t.is(getEventListeners(end.signal, 'abort').length, 0);
  end.abort();
  t.deepEqual([signals.length, signals[0]?.aborted, heard], [1, false, 0]);
});
