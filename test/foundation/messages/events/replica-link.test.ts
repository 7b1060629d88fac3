import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { createEventMetrics } from '../../../../foundation/messages/events/event-metrics.ts';
import { DEFAULT_LIMITS, type EventLimits } from '../../../../foundation/messages/events/events.ts';
import { createReplicaLink } from '../../../../foundation/messages/events/replica-link.ts';
import type {
  Connection,
  ConnectionEvents,
  Transport,
} from '../../../../foundation/messages/events/transport.ts';
import { recordedMetrics } from '../../../support/metrics.ts';
import { until } from '../../../support/until.ts';
import { PATIENCE } from './events-kit.ts';

/** A server that returns what is sent, and fails as the test wants. */
class FakeServer implements Transport {
  readonly reach = 'redis';
  readonly title = 'Redis';
  readonly sent: string[] = [];
  connections = 0;
  destroyed = 0;
  /** Takes messages but returns none, as a pooler does that gives every statement another session. */
  isForgetful = false;
  isFailing = false;
  /** Batches that are not answered until the test says so. */
  hold: Promise<void> | undefined;
  current: ConnectionEvents | undefined;

  connect(events: ConnectionEvents): Connection {
    this.connections += 1;
    this.current = events;
    return {
      open: async () => undefined,
      ping: async () => undefined,
      send: async (messages) => {
        const isHello = messages.some((message) => message.includes('!hello'));
        if (!isHello) await this.hold;
        if (this.isFailing && !isHello) throw new Error('broken pipe');
        this.sent.push(...messages);
        if (!this.isForgetful) for (const message of messages) events.message(message);
        return { count: 0 };
      },
      destroy: () => {
        this.destroyed += 1;
      },
    };
  }

  /** What arrived, without origin and number. */
  subjects(): string[] {
    return this.sent.map((message) => message.split(' ').slice(3).join(' ').trim());
  }
}

const silent = { info: () => undefined, warn: () => undefined } as never;

function startLink(t: ExecutionContext, server: FakeServer, limits: Partial<EventLimits> = {}) {
  const told = { missed: 0, connected: [] as boolean[], dropped: 0 };
  const link = createReplicaLink({
    transport: server,
    limits: { ...DEFAULT_LIMITS, backoff: { first: 5, most: 20 }, ...limits },
    clock: systemClock,
    ids: createIds(systemClock),
    log: silent,
    metrics: createEventMetrics(
      recordedMetrics((name, _, value) => {
        if (name === 'svc_events_connected') told.connected.push(value === 1);
        if (name === 'svc_events_dropped_total') told.dropped += value;
      }),
    ),
    onEvent: () => t.fail('own events do not come back'),
    onMissed: () => {
      told.missed += 1;
    },
  });
  t.teardown(() => link.close());
  return { link, told };
}

test('a connection on which nothing comes back does not count', async (t) => {
  const server = new FakeServer();
  server.isForgetful = true;
  const { link, told } = startLink(t, server, { answerDeadline: 20 });
  link.send('test.counted', '{}');
  await until(() => server.connections >= 3, PATIENCE);
  t.deepEqual(told, { missed: 0, connected: [false], dropped: 0 });
  t.deepEqual([...new Set(server.subjects())], ['!hello']);
  server.isForgetful = false;
  await until(() => server.subjects().at(-1) === 'test.counted {}', PATIENCE);
  t.deepEqual([told.missed, told.connected], [1, [false, true]]);
  await until(() => server.destroyed === server.connections - 1, PATIENCE);
});

test('what was under way when the connection broke is not sent twice, and the others are told before anything else', async (t) => {
  const server = new FakeServer();
  const { link, told } = startLink(t, server);
  await until(() => told.missed === 1, PATIENCE);
  server.isFailing = true;
  link.send('test.first', '{}');
  await until(() => told.dropped === 1, PATIENCE);
  link.send('test.second', '{}');
  server.isFailing = false;
  await until(() => server.subjects().at(-1) === 'test.second {}', PATIENCE);
  const afterwards = server.subjects().filter((subject) => subject !== '!hello');
  t.deepEqual(afterwards, ['!lost', 'test.second {}']);
});

test('what the buffer loses while the others are told of a loss is told as well', async (t) => {
  const server = new FakeServer();
  const { link, told } = startLink(t, server, { outgoing: 1 });
  await until(() => told.missed === 1, PATIENCE);
  const gate = Promise.withResolvers<void>();
  server.hold = gate.promise;
  // The first is under way; of the others only the last has room.
  link.send('test.one', '{}');
  await new Promise((resolve) => setImmediate(resolve));
  link.send('test.two', '{}');
  link.send('test.three', '{}');
  const second = Promise.withResolvers<void>();
  server.hold = second.promise;
  gate.resolve();
  await until(() => server.subjects().includes('test.one {}'), PATIENCE);
  await new Promise((resolve) => setImmediate(resolve));
  link.send('test.four', '{}');
  second.resolve();
  await until(() => server.subjects().includes('test.four {}'), PATIENCE);
  t.deepEqual(server.subjects().slice(1), ['test.one {}', '!lost', '!lost', 'test.four {}']);
  t.is(told.dropped, 2);
});

test('a connection that is lost while nothing is sent is made anew', async (t) => {
  const server = new FakeServer();
  const { told } = startLink(t, server);
  for (const count of [1, 2, 3]) {
    await until(() => told.missed === count, PATIENCE);
    server.current?.lost(new Error('reset'));
  }
  await until(() => told.missed === 4, PATIENCE);
  t.is(server.connections, 4);
});

test('a connection that is lost again and again is made anew ever more slowly', async (t) => {
  const server = new FakeServer();
  const { told } = startLink(t, server, { backoff: { first: 10, most: 10_000 } });
  const since = performance.now();
  for (let count = 1; count <= 6; count += 1) {
    await until(() => told.missed === count, PATIENCE);
    server.current?.lost(new Error('reset'));
  }
  // Half of 10 + 20 + 40 + 80 + 160, at least.
  t.true(performance.now() - since >= 150);
});
