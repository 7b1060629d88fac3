import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { type OwnRedis, startOwnRedis } from '../../../kernel/limits/own-redis.ts';
import { settled, until } from '../../../support/until.ts';
import { openTold, ownPrefix, PATIENCE_MS, Steps, send, WITHOUT_WAITING_MS } from './hint-forms.ts';

const urlOf = (redis: OwnRedis) => `redis://127.0.0.1:${redis.port}`;
const eventually = (condition: () => boolean | Promise<boolean>) => until(condition, PATIENCE_MS);
const warnings = (lines: { level: number; msg: string }[]) => lines.filter(({ level }) => level >= 40);

test('while Redis is away publish answers false at once, and everything goes on when it is back', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const { queue, lines, counts } = await openTold(t, { redisUrl: urlOf(redis) });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  await send(queue, { n: 1 });
  await eventually(() => got.includes(1));

  await redis.kill();
  await eventually(async () => !(await queue.send(Steps, { n: 2 })));
  for (let n = 0; n < 50; n += 1) {
    const began = performance.now();
    t.false(await queue.send(Steps, { n: 2 }));
    t.true(performance.now() - began < WITHOUT_WAITING_MS);
  }
  t.true(counts.includes('published workflow.steps away'));
  await pause(1_500);
  t.is(warnings(lines).length, 1, JSON.stringify(warnings(lines)));

  await redis.start();
  await send(queue, { n: 3 });
  await eventually(() => got.includes(3));
  t.is(lines.filter(({ msg }) => msg.includes('is back:')).length, 1);
});

test('a Redis that stands still makes publish answer false within a second', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const { queue } = await openTold(t, { redisUrl: urlOf(redis) });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  await send(queue, { n: 1 });
  await eventually(() => got.includes(1));
  redis.freeze();
  try {
    for (let n = 0; n < 5; n += 1) {
      const began = performance.now();
      t.false(await queue.send(Steps, { n: 2 }));
      t.true(performance.now() - began < WITHOUT_WAITING_MS, `${performance.now() - began} ms`);
    }
  } finally {
    redis.thaw();
  }
  await send(queue, { n: 3 });
  await eventually(() => got.includes(3));
});

test('a queue that opens without Redis works when Redis comes, its consumers too', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  await redis.kill();
  const began = performance.now();
  const { queue } = await openTold(t, { redisUrl: urlOf(redis) });
  t.true(performance.now() - began < 5_000);
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  t.false(await queue.send(Steps, { n: 1 }));
  await redis.start();
  await send(queue, { n: 2 });
  await eventually(() => got.includes(2));
});

test('stopping and closing end in time while Redis is away', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const { queue } = await openTold(t, { redisUrl: urlOf(redis) });
  const got: number[] = [];
  const consumer = queue.listen(Steps, async ({ n }) => void got.push(n));
  await send(queue, { n: 1 });
  await eventually(() => got.length === 1);
  await redis.kill();
  const late = queue.listen(Steps, async () => {});
  const began = performance.now();
  await Promise.all([consumer.stop(1_000), late.stop(1_000)]);
  t.true(performance.now() - began < 6_000, `${performance.now() - began} ms`);
  await queue.close();
  t.true(performance.now() - began < 10_000);
});

test('closing ends in time while Redis stands still', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const { queue } = await openTold(t, { redisUrl: urlOf(redis) });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  await send(queue, { n: 1 });
  await eventually(() => got.length === 1);
  redis.freeze();
  const began = performance.now();
  await queue.close();
  t.true(performance.now() - began < 10_000, `${performance.now() - began} ms`);
  redis.thaw();
});

test('a Redis that refuses writes is not asked again and again, and fills no log', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const { queue, lines } = await openTold(t, { redisUrl: urlOf(redis) });
  const got: number[] = [];
  // Busy when it begins, so that the worker is not just waiting.
  queue.listen(Steps, async ({ n }) => {
    await pause(20);
    got.push(n);
  });
  for (let n = 0; n < 200; n += 1) await send(queue, { n });
  await eventually(() => got.length > 10);
  const admin = redis.client();
  await admin.replicaof('127.0.0.1', '1');
  await eventually(async () => !(await queue.send(Steps, { n: 0 })));
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]);
  const before = await commands();
  await pause(2_000);
  const asked = (await commands()) - before;
  t.true(asked < 200, `${asked} commands in 2 s`);
  t.true(warnings(lines).length < 5, JSON.stringify(warnings(lines).slice(0, 8)));
  await admin.replicaof('NO', 'ONE');
  await send(queue, { n: 1_000 });
  await eventually(() => got.includes(1_000));
});

for (const rights of ['+@all', '-info'])
  test(`a delayed message is waited for as long as it is delayed, and no whole second (${rights})`, async (t) => {
    const redis = await startOwnRedis(t);
    if (redis === undefined) return;
    const admin = redis.client();
    await admin.call('acl', 'setuser', 'gateway', 'on', '>secret', '~*', '&*', '+@all', rights);
    const commands: string[][] = [];
    const monitor = await admin.monitor();
    t.teardown(() => monitor.disconnect());
    monitor.on('monitor', (_time: string, args: string[]) => commands.push(args));
    const { queue } = await openTold(t, { redisUrl: `redis://gateway:secret@127.0.0.1:${redis.port}` });
    const got: number[] = [];
    queue.listen(Steps, async ({ n }) => void got.push(n));
    for (let n = 0; n < 3; n += 1) await send(queue, { n }, { delay: 400 });
    await eventually(() => got.length === 3);
    const waits = commands
      .filter(([name]) => name?.toLowerCase() === 'bzpopmin')
      .map((args) => Number(args.at(-1)));
    t.true(
      waits.some((seconds) => seconds < 0.5),
      `seconds: ${waits.join()}`,
    );
  });

test('a message in the hands of a process that is killed comes again', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const child = spawn(process.execPath, [`${import.meta.dirname}/consumer-process.ts`, urlOf(redis)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  t.is(String(said), 'has message run-1\n');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const { createHints } = await import('../../../../foundation/messages/hints/create-hints.ts');
  const { openRedisCarrier } = await import('../../../../foundation/messages/hints/redis-carrier.ts');
  const { clock, ids, log, metrics } = await import('./quiet-parts.ts');
  const carrier = await openRedisCarrier({ url: urlOf(redis), prefix: 'killed', lease: 1_000, clock, log });
  const queue = createHints(carrier, { clock, ids, log, metrics });
  t.teardown(() => queue.close());
  const got: string[] = [];
  queue.listen(Steps, async (_, { id }) => void got.push(id));
  await eventually(() => got.length > 0);
  await settled(() => got.length);
  t.deepEqual(got, ['run-1']);
});

test('a Redis that may drop keys is warned of', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  await redis.client().config('SET', 'maxmemory-policy', 'allkeys-lru');
  const { queue, lines } = await openTold(t, { redisUrl: urlOf(redis) });
  t.is(warnings(lines).length, 1);
  t.is(lines.find(({ level }) => level === 40)?.maxmemory_policy, 'allkeys-lru');
  await send(queue, { n: 1 });
});

test('messages leave nothing behind in Redis, and keys of one prefix only', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const prefix = ownPrefix(t, urlOf(redis));
  const { queue, counts } = await openTold(t, { redisUrl: urlOf(redis), prefix });
  queue.listen(Steps, async ({ n }) => {
    if (n % 2 === 0) throw new Error('no luck');
  });
  for (let n = 0; n < 100; n += 1) await send(queue, { n }, { id: `run-${n}` });
  await eventually(() => counts.filter((count) => count.startsWith('delivered')).length === 100);
  const client = redis.client();
  await eventually(async () => (await client.llen(`${prefix}:workflow.steps:active`)) === 0);
  const keys = await client.keys('*');
  t.true(
    keys.every((key) => key.startsWith(`${prefix}:workflow.steps:`)),
    `${keys}`,
  );
  t.true(keys.length < 8, `${keys}`);
  t.true((await client.xlen(`${prefix}:workflow.steps:events`)) < 300);
});
