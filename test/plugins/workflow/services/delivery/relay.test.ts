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
    tenant_id: 'tenant',
    run_id: 'run-1',
    definition_id: 'invoices',
    seq: 1,
    type: 'step.started',
    node_id: 'a',
    data: {},
    created_at: '2023-11-14T22:13:20.000Z',
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

test('a database that is away is one line a minute, however many runs wait for it', async (t) => {
  const { relay, state, lines, clock, end } = relayOver([keepingSink('hooks').sink]);
  state.failure = new Error('away');
  await Promise.all(Array.from({ length: 50 }, () => relay.relayNow(end.signal)));
  clock.advance(59_000);
  await relay.relayNow(end.signal);
  t.is(lines.length, 1);
  t.like(lines[0], { count: 1, err: { message: 'away' } });
  clock.advance(1_000);
  await relay.relayNow(end.signal);
  t.is(lines.length, 2);
  t.like(lines[1], { count: 51 });
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

const DAY = 86_400_000;

test('what is refused when it is older than three days is given up, with an error in the log that names the sink', async (t) => {
  const hooks = keepingSink('hooks', fails);
  const { add, round, clock, waiting, lines, counted } = relayOver([hooks.sink]);
  add('run-1', 4);
  await round();
  clock.advance(3 * DAY);
  await round();
  t.is(waiting.size, 1);
  clock.advance(3_600_000);
  await round();
  t.is(waiting.size, 0);
  t.is(hooks.state.calls, 3, 'not without a last attempt');
  t.deepEqual(counted.at(-1), ['gave up', 'hooks', 4]);
  t.like(lines.at(-1), { level: 50, run_id: 'run-1', sink: 'hooks', from_seq: 1, events: 4 });
});

test('events that are younger than three days stay when those before them are given up', async (t) => {
  let calls = 0;
  const hooks = keepingSink('hooks', () => {
    calls += 1;
    return calls === 1 ? fails() : undefined;
  });
  const { add, round, clock, counted, state } = relayOver([hooks.sink]);
  add('run-1', 4);
  clock.advance(3 * DAY + 1);
  add('run-1', 9);
  state.old = 4;
  await round();
  t.deepEqual(counted, [
    ['failed', 'hooks'],
    ['gave up', 'hooks', 4],
    ['delivered', 'hooks', 5],
  ]);
  t.deepEqual(hooks.seqs(), [5, 6, 7, 8, 9]);
});

test('what is old after a downtime is given up after a refusal only, not since the sink rests or leaves', async (t) => {
  const hangs = keepingSink('hangs', () => new Promise(() => {}));
  const { add, round, clock, waiting, counted, givenBack, live, relay, end } = relayOver([hangs.sink], 50);
  for (let run = 0; run < 10; run += 1) add(`run-${run}`, 1);
  clock.advance(4 * DAY);
  await round();
  t.is(hangs.state.calls, 4);
  t.is(waiting.size, 6);
  await round();
  t.is(hangs.state.calls, 4);
  t.is(waiting.size, 6);
  t.is(counted.filter(([what]) => what === 'gave up').length, 4);
  // Taken, but gone before it could be asked.
  clock.advance(30_000);
  const relayed = relay.relay(end.signal);
  live.sinks = [];
  await relayed;
  await relay.idle();
  t.is(waiting.size, 6);
  t.is(hangs.state.calls, 4);
  t.true(givenBack.every((ms) => ms <= 1_000));
});

test('a tenant whose receiver hangs holds up neither other sinks nor other tenants, and is left alone for a while', async (t) => {
  let isSlow = true;
  const hangs = keepingSink('hooks', ([event]) =>
    isSlow && event!.tenant_id === 'slow' ? new Promise(() => {}) : undefined,
  );
  const bus = keepingSink('bus');
  const { add, relay, round, end, clock } = relayOver([hangs.sink, bus.sink], 300);
  for (let run = 0; run < 100; run += 1) add(`slow-${run}`, 1, 'slow');
  await relay.relay(end.signal);
  t.is(hangs.state.calls, 4, 'a few at one time');
  for (let run = 0; run < 50; run += 1) {
    add(`fast-${run}`, 1, 'fast');
    await relay.relay(end.signal, ['hooks']);
  }
  await until(() => hangs.got.length === 50 && bus.got.length >= 100);
  t.is(hangs.state.calls, 54, 'none of the slow ones has ended');
  await relay.idle();
  clock.advance(29_999);
  await round();
  t.is(hangs.state.calls, 54, 'a rest');
  clock.advance(1);
  await round();
  t.is(hangs.state.calls, 55, 'one to try after it');
  isSlow = false;
  clock.advance(30_000);
  await round();
  clock.advance(3_600_000);
  await round();
  t.is(hangs.got.length, 150);
});

test('what is under way when a rest begins is put off to its end, and no attempt is counted', async (t) => {
  const gate = Promise.withResolvers<void>();
  const hooks = keepingSink('hooks', () => new Promise(() => {}));
  const { add, relay, end, clock, postponed, givenBack, state, waiting } = relayOver([hooks.sink], 100);
  add('run-1', 1);
  await relay.relay(end.signal);
  add('run-2', 1);
  state.gate = gate.promise;
  void relay.relay(end.signal);
  // Taken, and on its way to the sink, when that is left alone.
  await until(() => postponed.length === 1);
  clock.advance(10_000);
  gate.resolve();
  await relay.idle();
  t.is(hooks.state.calls, 1);
  t.deepEqual(givenBack, [20_000]);
  t.is(waiting.get('hooks run-2')?.attempts, 0);
});

test('what waits for a sink that has been away for three days is given up, and nothing else', async (t) => {
  const hooks = keepingSink('hooks', fails);
  const { addFor, relay, waiting, clock, lines, counted } = relayOver([hooks.sink]);
  addFor(['hooks', 'gone'], 'run-1', 3, 'tenant');
  clock.advance(3 * DAY);
  await relay.forget();
  t.is(waiting.size, 2);
  clock.advance(1);
  await relay.forget();
  t.deepEqual([...waiting.keys()], ['hooks run-1']);
  t.deepEqual(counted, [['gave up', 'gone', 3]]);
  t.like(lines.at(-1), { level: 50, sink: 'gone', events: 3 });
});
