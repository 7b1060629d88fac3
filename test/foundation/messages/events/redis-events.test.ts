import test from 'ava';
import { Redis } from 'ioredis';
import { redisTransport } from '../../../../foundation/messages/events/redis-transport.ts';
import { startOwnRedis } from '../../../kernel/limits/own-redis.ts';
import { available } from '../../../support/services.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { until } from '../../../support/until.ts';
import {
  Counted,
  connected,
  connectRedis,
  disconnected,
  numbersAt,
  openOnRedis,
  openReplica,
  ownChannel,
  PATIENCE,
  REDIS_URL,
} from './events-kit.ts';

/** What a process logs of an outage, whatever uses Redis. */
const OUTAGE = [
  'Redis is away: this replica works without it until it is back',
  'Redis is back: this replica uses it again',
];
const UPTO = (count: number) => Array.from({ length: count }, (_, n) => n);

test('events flow again after Redis was killed and came back, with what was emitted meanwhile, and are told as missed', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const [one, two] = [await openOnRedis(t, redisUrl), await openOnRedis(t, redisUrl)];
  const [here, there] = [numbersAt(one), numbersAt(two)];
  await connected(one, two);
  one.events.emit(Counted, { n: 0 });
  await until(() => there.length === 1, PATIENCE);

  await server.kill();
  await disconnected(one, two);
  for (const n of [1, 2, 3]) one.events.emit(Counted, { n });
  await until(() => here.length === 4, PATIENCE);
  t.deepEqual(there, [0]);

  const missed = [one.missed, two.missed];
  await server.start();
  await connected(one, two);
  one.events.emit(Counted, { n: 4 });
  await until(() => there.at(-1) === 4, PATIENCE);
  // What was sent before the other replica listened again is lost: it was told so.
  t.deepEqual(there, [0, ...[1, 2, 3, 4].slice(-there.length + 1)]);
  t.true(one.missed > missed[0]! && two.missed > missed[1]!);
  for (const { logged } of [one, two]) {
    t.deepEqual(logged, OUTAGE);
  }
});

test('a replica that starts while Redis is away sends what it buffered when Redis comes', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const two = await openOnRedis(t, redisUrl);
  const there = numbersAt(two);
  await connected(two);
  const proxy = await startTcpProxy(t, server.port);
  await proxy.cut();
  const one = await openOnRedis(t, `redis://127.0.0.1:${proxy.port}`, { limits: { outgoing: 10 } });
  for (const n of UPTO(15)) one.events.emit(Counted, { n });
  await disconnected(one);
  const missed = two.missed;
  await proxy.restore();
  await until(() => there.length === 10 && two.missed > missed, PATIENCE);
  t.deepEqual(
    there,
    UPTO(10).map((n) => n + 5),
  );
  t.is(one.dropped.outgoing, 5);
  t.deepEqual(one.logged, [...OUTAGE, 'events were lost while Redis was away']);
  t.deepEqual(two.logged, []);
});

test('a channel that breaks while Redis is there is a line of its own, and events flow again', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const [one, two] = [await openOnRedis(t, redisUrl), await openOnRedis(t, redisUrl)];
  const there = numbersAt(two);
  await connected(one, two);
  const missed = two.missed;
  await server.client().call('client', 'KILL', 'TYPE', 'pubsub');
  await disconnected(one, two);
  await connected(one, two);
  one.events.emit(Counted, { n: 1 });
  await until(() => there.length === 1, PATIENCE);
  t.true(two.missed > missed);
  t.deepEqual(two.logged, [
    'Redis is away: no events from and to other replicas until it is back',
    'Redis is back: events reach other replicas again',
  ]);
});

test('a Redis that falls silent is given up, and events flow again when it answers', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const channel = ownChannel();
  const proxy = await startTcpProxy(t, 6379);
  const limits = { answerDeadline: 1_000, pingEvery: 200, openDeadline: 2_000 };
  const one = await openOnRedis(t, `redis://127.0.0.1:${proxy.port}`, { channel, limits });
  const two = await openOnRedis(t, REDIS_URL, { channel });
  const [here, there] = [numbersAt(one), numbersAt(two)];
  await connected(one, two);
  proxy.silence();
  await disconnected(one);
  const missed = one.missed;
  await proxy.restore();
  await connected(one);
  t.true(one.missed > missed);
  two.events.emit(Counted, { n: 1 });
  one.events.emit(Counted, { n: 2 });
  await until(() => here.length === 2 && there.length === 2, PATIENCE);
  t.deepEqual(two.connected, [true]);
  t.deepEqual(one.logged, OUTAGE);
});

test('with the usual bounds a silent Redis is noticed within 15 seconds', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const proxy = await startTcpProxy(t, 6379);
  const one = await openOnRedis(t, `redis://127.0.0.1:${proxy.port}`, { channel: ownChannel() });
  await connected(one);
  proxy.silence();
  const since = performance.now();
  await until(() => one.connected.at(-1) === false, PATIENCE);
  t.true(performance.now() - since < 15_000);
});

test('what others publish on the channel is dropped and logged once', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const channel = ownChannel();
  const [one, two] = [
    await openOnRedis(t, REDIS_URL, { channel }),
    await openOnRedis(t, REDIS_URL, { channel }),
  ];
  const there = numbersAt(two);
  await connected(one, two);
  const stranger = new Redis(REDIS_URL);
  t.teardown(() => stranger.disconnect());
  const malformed = [
    '',
    '{}',
    'null',
    '2 a 1 test.counted {"n":1}',
    '1 a 1  {}',
    `1 a 1 test.counted ${'x'.repeat(100_000)}`,
  ];
  const unfit = [
    '1 a 1 test.counted ',
    '1 a 1 test.counted {',
    '1 a 1 test.counted {"n":"x"}',
    '1 a 1 test.counted {"__proto__":{"n":1}}',
  ];
  const unknown = ['1 a 1 test.unknown {', '1 a 1 !unknown x', '1 a 1 __proto__ {}', '1 a 1 constructor {}'];
  for (const text of [...malformed, ...unfit, ...unknown]) await stranger.publish(`${channel}:events`, text);
  await stranger.publish(`${channel}:events`, Buffer.from([0, 255, 254, 1]));
  one.events.emit(Counted, { n: 1 });
  await until(() => there.length === 1, PATIENCE);
  t.deepEqual(there, [1]);
  // `__proto__` is no id of an event.
  t.deepEqual(two.dropped, { malformed: malformed.length + 2, unfit: unfit.length });
  t.deepEqual(two.logged.toSorted(), [
    'an event from elsewhere does not fit its schema',
    'messages on the events channel of Redis are not understood',
  ]);
});

test('a Redis that refuses to let events be published is told and tried again', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const admin = server.client();
  await admin.acl('SETUSER', 'listener', 'on', '>password', '+@all', '-publish', 'allchannels', 'allkeys');
  const one = await openOnRedis(t, `redis://listener:password@127.0.0.1:${server.port}`);
  await disconnected(one);
  t.deepEqual(one.logged, ['Redis is away: no events from and to other replicas until it is back']);
  await admin.acl('SETUSER', 'listener', '+publish');
  await connected(one);
  await admin.acl('SETUSER', 'listener', '-publish');
  one.events.emit(Counted, { n: 1 });
  await until(() => one.dropped.outgoing === 1 && one.connected.at(-1) === false, PATIENCE);
  t.true(one.logged.includes('Redis refuses events'));
  await admin.acl('SETUSER', 'listener', '+publish');
  await connected(one);
});

test('closing while Redis is away ends, at once when nothing waits', async (t) => {
  const redisUrl = 'redis://127.0.0.1:1';
  const [idle, waiting] = [
    await openOnRedis(t, redisUrl),
    await openOnRedis(t, redisUrl, { limits: { closeDeadline: 200 } }),
  ];
  await disconnected(idle, waiting);
  waiting.events.emit(Counted, { n: 1 });
  await Promise.all([idle.events.close(), waiting.events.close()]);
  t.deepEqual(waiting.logged.slice(1), ['the last events were not sent']);
  t.is(idle.logged.length, 1);
});

test('closing while a connection is being made to a silent Redis ends at once', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const proxy = await startTcpProxy(t, 6379);
  const { redis } = await connectRedis(t, `redis://127.0.0.1:${proxy.port}`);
  proxy.silence();
  const one = openReplica(t, { redis });
  const since = performance.now();
  await new Promise((resolve) => setImmediate(resolve));
  await one.events.close();
  t.true(performance.now() - since < 4_000);
});

test('deployments with channels of their own do not hear each other', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const open = () => openOnRedis(t, REDIS_URL, { channel: ownChannel() });
  const [one, two] = [await open(), await open()];
  const there = numbersAt(two);
  await connected(one, two);
  one.events.emit(Counted, { n: 1 });
  await one.events.close();
  two.events.emit(Counted, { n: 2 });
  await until(() => there.length === 1, PATIENCE);
  t.deepEqual(there, [2]);
});

test('what breaks while it is sent is no refusal', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const proxy = await startTcpProxy(t, 6379);
  const { redis } = await connectRedis(t, `redis://127.0.0.1:${proxy.port}`);
  const transport = redisTransport(redis, ownChannel());
  const lost: unknown[] = [];
  const connection = transport.connect({ message: () => t.fail(), lost: (reason) => lost.push(reason) });
  t.teardown(() => connection.destroy());
  await connection.open();
  proxy.silence();
  const sending = connection.send(['first', 'second']);
  await proxy.cut();
  await t.throwsAsync(sending);
  await until(() => lost.length === 2, PATIENCE);
  await t.throwsAsync(connection.send(['third']));
});
