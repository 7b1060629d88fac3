import test from 'ava';
import { until } from '../../../../support/until.ts';
import { keepingSink, relayOver } from './relay-kit.ts';

const DAY = 86_400_000;
const fails = () => Promise.reject(new Error('away'));

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
