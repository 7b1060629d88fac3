import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { DeadlineError } from '../../../foundation/base/deadline.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { openRedis } from '../../../foundation/redis/open-redis.ts';
import { RedisStartError, redisScript } from '../../../foundation/redis/redis.ts';
import { type OwnRedis, startOwnRedis } from '../../kernel/limits/own-redis.ts';
import { until } from '../../support/until.ts';

const ADD = redisScript(`return redis.call('incrby', KEYS[1], ARGV[1])`);

async function open(t: ExecutionContext, server: OwnRedis, user = '', database = '') {
  const logged: string[] = [];
  const log = {
    info: (line: string) => logged.push(line),
    warn: (_: unknown, line: string) => logged.push(line),
  };
  const redis = await openRedis({
    url: `redis://${user}127.0.0.1:${server.port}${database}`,
    deployment: 'test',
    clock: systemClock,
    ids: createIds(systemClock),
    log: log as never,
  });
  t.teardown(() => redis.close());
  return { redis, logged };
}

test('scripts run, and are sent again to a server that forgot them', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis } = await open(t, server);
  t.true(redis.isUp());
  t.is(await redis.run(ADD, ['n'], [5]), 5);
  await server.client().script('FLUSH');
  t.deepEqual(await Promise.all([redis.run(ADD, ['n'], [1]), redis.run(ADD, ['n'], [1])]), [6, 7]);
});

test('a database that the server does not have is named, and that of number 0 is not taken for it', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis } = await open(t, server, '', '/15');
  t.is(await redis.run(ADD, ['n'], [5]), 5);
  t.is(await server.client().get('n'), null);
  await t.throwsAsync(open(t, server, '', '/16'), {
    instanceOf: RedisStartError,
    message: 'REDIS_URL: names database 16, which this Redis refuses (ERR DB index is out of range)',
  });
});

test('a database that a user may not enter is named as well', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  await server.client().acl('SETUSER', 'guest', 'on', '>pw', '~*', '&*', '+@all', '-select');
  const { redis } = await open(t, server, 'guest:pw@');
  t.true(redis.isUp());
  await t.throwsAsync(open(t, server, 'guest:pw@', '/1'), {
    instanceOf: RedisStartError,
    message: /^REDIS_URL: names database 1, which this Redis refuses \(NOPERM /,
  });
});

test('a node of a cluster is refused, also where it has all slots', async (t) => {
  const server = await startOwnRedis(t, ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf']);
  if (server === undefined) return;
  await server.client().cluster('ADDSLOTSRANGE', 0, 16_383);
  await until(async () => (await server.client().cluster('INFO')).includes('cluster_state:ok'));
  await t.throwsAsync(open(t, server), {
    instanceOf: RedisStartError,
    message:
      'REDIS_URL: names a node of a Redis Cluster, whose keys lie on several servers; name a Redis without cluster mode',
  });
});

test('a server that comes later and does not have the database is away', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  await server.kill();
  const { redis, logged } = await open(t, server, '', '/16');
  await server.start();
  await until(() => logged.length > 1);
  t.false(redis.isUp());
  t.deepEqual(logged, [
    'Redis is away: this replica works without it until it is back',
    'Redis refused a command',
  ]);
});

test('an outage is one line, its end another, and everybody who listens hears of both', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis, logged } = await open(t, server);
  const heard: boolean[] = [];
  const end = redis.onChange((isUp) => heard.push(isUp));
  await server.kill();
  await until(() => !redis.isUp());
  await t.throwsAsync(() => redis.run(ADD, ['n'], [1]), { message: 'Redis is away' });
  await t.throwsAsync(() => redis.publish('news', ['x']), { message: 'Redis is away' });
  await server.start();
  await until(() => redis.isUp());
  t.is(await redis.run(ADD, ['n'], [1]), 1);
  t.deepEqual(heard, [false, true]);
  t.deepEqual(logged, [
    'Redis is away: this replica works without it until it is back',
    'Redis is back: this replica uses it again',
  ]);
  end();
  redis.close();
  t.false(redis.isUp());
  t.is(heard.length, 2);
});

test('a Redis that was not there at the start is used when it comes', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  await server.kill();
  const { redis, logged } = await open(t, server);
  t.false(redis.isUp());
  await server.start();
  await until(() => redis.isUp());
  t.is(logged.length, 2);
});

test('a silent Redis keeps a caller for its deadline, and is away after a second', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis, logged } = await open(t, server);
  t.teardown(() => server.thaw());
  server.freeze();
  const start = performance.now();
  await t.throwsAsync(() => redis.run(ADD, ['n'], [1], 100), { instanceOf: DeadlineError });
  const waited = performance.now() - start;
  t.true(waited >= 95 && waited < 900, `${waited} ms`);
  t.true(redis.isUp());
  // Its own deadline ends it, or the end of the connection, on which the first command has had no answer for a second
  // either.
  await t.throwsAsync(() => redis.run(ADD, ['n'], [1]));
  t.false(redis.isUp());
  server.thaw();
  await until(() => redis.isUp());
  t.is(logged.length, 2, logged.join('\n'));
});

test('a Redis that takes no writes is away until it does', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis, logged } = await open(t, server);
  const admin = server.client();
  await admin.replicaof('127.0.0.1', '1');
  await t.throwsAsync(() => redis.run(ADD, ['n'], [1]), { message: /READONLY/ });
  t.false(redis.isUp());
  await admin.replicaof('NO', 'ONE');
  await until(() => redis.isUp());
  t.is(logged.length, 2, logged.join('\n'));
});

for (const [user, isSet] of [
  ['', false],
  [':first@', true],
] as const)
  test(`a password that changes ${isSet ? '' : 'from none '}while Redis is used is named in the log`, async (t) => {
    const server = await startOwnRedis(t);
    if (server === undefined) return;
    const admin = server.client();
    if (isSet) await admin.config('SET', 'requirepass', 'first');
    const { redis, logged } = await open(t, server, user);
    t.true(redis.isUp());
    await admin.config('SET', 'requirepass', 'second');
    await admin.call('client', 'kill', 'type', 'normal', 'skipme', 'yes');
    await until(() => logged.includes('Redis refused a command'));
    t.false(redis.isUp());
    t.is(logged[0], 'Redis is away: this replica works without it until it is back');
  });

test('a command that the server refuses is no outage', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis, logged } = await open(t, server);
  await server.client().rpush('list', 'x');
  for (let i = 0; i < 3; i += 1)
    await t.throwsAsync(() => redis.run(ADD, ['list'], [1]), { message: /WRONGTYPE/ });
  t.true(redis.isUp());
  t.deepEqual(logged, ['Redis refused a command']);
});

test('what a user may not publish is counted, with the reason', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  await server
    .client()
    .call('acl', 'setuser', 'half', 'on', '>secret', '~*', '+@all', 'resetchannels', '&allowed');
  const { redis } = await open(t, server, 'half:secret@');
  t.deepEqual(await redis.publish('allowed', ['a', 'b']), { count: 0 });
  const { count, reason } = await redis.publish('forbidden', ['a', 'b']);
  t.is(count, 2);
  t.regex((reason as Error).message, /NOPERM/);
});

test('a subscriber hears its channel in order, and is informed of what it may have missed', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { redis, logged } = await open(t, server);
  const heard: string[] = [];
  const end = redis.subscribe('news', {
    message: (text) => heard.push(text),
    subscribed: () => heard.push('<subscribed>'),
    lost: () => heard.push('<lost>'),
  });
  await until(() => heard.length === 1);
  await redis.publish('news', ['a', 'b']);
  await redis.publish('other', ['x']);
  await until(() => heard.length === 3);
  await server.kill();
  await until(() => heard.length === 4);
  await server.start();
  await until(() => heard.length === 5 && redis.isUp());
  await redis.publish('news', ['c']);
  await until(() => heard.length === 6);
  t.deepEqual(heard, ['<subscribed>', 'a', 'b', '<lost>', '<subscribed>', 'c']);
  t.throws(() => redis.subscribe('news', { message() {} }), { message: /has a subscriber/ });
  end();
  await until(async () => (await server.client().pubsub('NUMSUB', 'news'))[1] === 0);
  t.is(logged.length, 2, logged.join('\n'));
});
