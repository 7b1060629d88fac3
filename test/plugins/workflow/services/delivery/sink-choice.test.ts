import test from 'ava';
import { keepingSink, relayOver } from './relay-kit.ts';

const DAY = 86_400_000;

test('events that happen while a sink is away are noted for three days, and delivered when it is back', async (t) => {
  const [hooks, bus] = [keepingSink('hooks'), keepingSink('bus')];
  const { relay, add, round, live, clock, state } = relayOver([hooks.sink, bus.sink]);
  t.deepEqual(relay.sinksOf('tenant'), ['hooks', 'bus']);
  live.sinks = [bus.sink];
  hooks.state.wants = (tenantId) => tenantId === 'tenant';
  t.deepEqual(relay.sinksOf('tenant'), ['bus', 'hooks']);
  t.deepEqual(relay.sinksOf('other'), ['bus']);
  add('run-1', 2);
  const before = state.takes;
  await relay.relay(new AbortController().signal, ['hooks']);
  t.is(state.takes, before, 'nobody looks for one that is away');
  clock.advance(3 * DAY);
  t.deepEqual(relay.sinksOf('tenant'), ['bus', 'hooks']);
  clock.advance(1);
  t.deepEqual(relay.sinksOf('tenant'), ['bus']);
  const anew = keepingSink('hooks');
  live.sinks = [bus.sink, anew.sink];
  await round();
  t.deepEqual(anew.seqs(), [1, 2]);
  t.deepEqual(hooks.seqs(), []);
});

test('a sink that cannot say what it wants any more, being away, is taken to want it', (t) => {
  const hooks = keepingSink('hooks');
  const { relay, live, lines } = relayOver([hooks.sink]);
  relay.sinksOf('tenant');
  live.sinks = [];
  hooks.state.wants = () => {
    throw new Error('closed');
  };
  t.deepEqual(relay.sinksOf('tenant'), ['hooks']);
  t.deepEqual(relay.sinksOf('tenant'), ['hooks']);
  t.is(lines.length, 1);
});

test('of the sinks that are away a hundred are remembered', (t) => {
  const { relay, live, lines } = relayOver([]);
  live.sinks = Array.from({ length: 101 }, (_, index) => keepingSink(`sink-${index}`).sink);
  relay.sinksOf('tenant');
  live.sinks = [];
  t.is(relay.sinksOf('tenant').length, 100);
  t.like(lines[0], { level: 50, sink: 'sink-0' });
});

test('a sink that cannot say what it wants gets the events, and that is logged once until it answers again', async (t) => {
  const hooks = keepingSink('hooks');
  const { relay, add, round, lines } = relayOver([hooks.sink]);
  hooks.state.wants = () => {
    throw new Error('no memory');
  };
  t.deepEqual(relay.sinksOf('tenant'), ['hooks']);
  add('run-1', 1);
  await round();
  t.deepEqual(hooks.seqs(), [1]);
  t.is(lines.length, 1);
  hooks.state.wants = () => false;
  t.deepEqual(relay.sinksOf('tenant'), []);
});

test('nobody is there: nothing is wanted', (t) => {
  t.deepEqual(relayOver([]).relay.sinksOf('tenant'), []);
});

test('a sink whose name cannot be, or is taken, gets nothing, and that is logged once', async (t) => {
  const [hooks, second] = [keepingSink('hooks'), keepingSink('hooks')];
  const { relay, add, round, live, lines } = relayOver([
    hooks.sink,
    second.sink,
    keepingSink('No Name').sink,
  ]);
  t.deepEqual(relay.sinksOf('tenant'), ['hooks']);
  t.deepEqual(relay.sinksOf('tenant'), ['hooks']);
  add('run-1', 1);
  await round();
  t.deepEqual([hooks.seqs(), second.seqs()], [[1], []]);
  t.is(lines.length, 2);
  // Its plugin is there anew, with another object.
  live.sinks = [second.sink];
  add('run-1', 2);
  await round();
  t.deepEqual(second.seqs(), [2]);
});
