import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { createRateLimits, type Decision, type RateLimits } from '../../../foundation/limits/rate-limits.ts';
import { openRedis } from '../../../foundation/redis/open-redis.ts';
import { type OwnRedis, startOwnRedis } from '../../kernel/limits/own-redis.ts';
import { until } from '../../support/until.ts';

/** One replica: its limits, and what it logged. */
async function replica(t: ExecutionContext, server: OwnRedis) {
  const logged: string[] = [];
  const log = {
    info: (line: string) => logged.push(line),
    warn: (_: unknown, line: string) => logged.push(line),
  };
  const redis = await openRedis({
    url: `redis://127.0.0.1:${server.port}`,
    deployment: 'agent-gateway',
    clock: systemClock,
    ids: createIds(systemClock),
    log: log as never,
  });
  t.teardown(() => redis.close());
  const limits = createRateLimits({ redis, clock: systemClock });
  return { limits, logged };
}

/** True when Redis is asked, which is seen by the answer being a promise. */
async function isShared(limits: RateLimits): Promise<boolean> {
  const answer = limits.consume('user', 'probe', 1_000_000);
  await answer;
  return answer instanceof Promise;
}

async function countAdmitted(answers: (Decision | Promise<Decision>)[]): Promise<number> {
  return (await Promise.all(answers)).filter((answer) => answer.allowed).length;
}

test('replicas share a window through Redis, to the request', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits: one } = await replica(t, server);
  const { limits: two } = await replica(t, server);
  await until(async () => (await isShared(one)) && (await isShared(two)));
  const answers: (Decision | Promise<Decision>)[] = [];
  for (let i = 0; i < 200; i += 1) answers.push((i % 2 === 0 ? one : two).consume('tenant', 'acme', 70));
  t.is(await countAdmitted(answers), 70);
  t.deepEqual(await one.consume('tenant', 'acme', 71), { allowed: true, limit: 71, remaining: 0 });
  t.deepEqual(await two.consume('tenant', 'acme', 71), { allowed: false, limit: 71, remaining: 0 });
});

test('a request that is given back is given back to all replicas', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits: one } = await replica(t, server);
  const { limits: two } = await replica(t, server);
  await until(async () => (await isShared(one)) && (await isShared(two)));
  t.true((await one.consume('user', 'alice', 1)).allowed);
  t.false((await two.consume('user', 'alice', 1)).allowed);
  one.giveBack('user', 'alice');
  const admin = server.client();
  await until(async () => (await admin.llen('agent-gateway:limit:user:alice')) === 0);
  t.true((await two.consume('user', 'alice', 1)).allowed);
  t.false((await one.consume('user', 'alice', 1)).allowed);
});

test('a window in Redis slides: what is a minute old no longer counts', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits } = await replica(t, server);
  await until(() => isShared(limits));
  const admin = server.client();
  const now = Date.now();
  const expired = Array.from({ length: 300 }, (_, i) => now - 70_000 + i);
  const expiring = Array.from({ length: 5 }, () => now - 59_700);
  await admin.rpush('agent-gateway:limit:tenant:acme', ...expired, ...expiring);
  t.false((await limits.consume('tenant', 'acme', 5)).allowed);
  await until(async () => (await limits.consume('tenant', 'acme', 5)).allowed);
  t.true(Date.now() - now >= 300);
  t.is(await admin.llen('agent-gateway:limit:tenant:acme'), 1);
  t.true((await admin.pttl('agent-gateway:limit:tenant:acme')) > 59_000);
});

test('a clock of Redis that is set back makes nobody wait for longer than a minute', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits } = await replica(t, server);
  await until(() => isShared(limits));
  const admin = server.client();
  const before = Date.now() + 3_600_000;
  // Half of them were almost a minute old, the others new.
  const admitted = [before - 59_000, before - 59_000, before - 1_000, before];
  await admin.rpush('agent-gateway:limit:tenant:acme', ...admitted);
  await admin.pexpire('agent-gateway:limit:tenant:acme', 3_660_000);
  t.deepEqual(await limits.consume('tenant', 'acme', 4), { allowed: false, limit: 4, remaining: 0 });
  t.true((await admin.pttl('agent-gateway:limit:tenant:acme')) <= 60_000);
  await until(async () => (await limits.consume('tenant', 'acme', 4)).allowed);
  t.is(await admin.llen('agent-gateway:limit:tenant:acme'), 3);
});

test('a refused request writes nothing to Redis', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits: one } = await replica(t, server);
  const { limits: two } = await replica(t, server);
  await until(async () => (await isShared(one)) && (await isShared(two)));
  await one.consume('tenant', 'acme', 1);
  for (let i = 0; i < 20; i += 1) t.false((await two.consume('tenant', 'acme', 1)).allowed);
  t.is(await server.client().llen('agent-gateway:limit:tenant:acme'), 1);
});

test('when Redis dies the count goes on in memory, and Redis is used again when it is back', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits, logged } = await replica(t, server);
  await until(() => isShared(limits));
  for (let i = 0; i < 6; i += 1) t.true((await limits.consume('tenant', 'acme', 10)).allowed);
  await server.kill();
  await until(async () => !(await isShared(limits)));
  const answers: (Decision | Promise<Decision>)[] = [];
  for (let i = 0; i < 20; i += 1) answers.push(limits.consume('tenant', 'acme', 10));
  t.is(await countAdmitted(answers), 4);
  await server.start();
  await until(() => isShared(limits));
  t.true((await limits.consume('tenant', 'other', 10)).allowed);
  t.is(await server.client().llen('agent-gateway:limit:tenant:other'), 1);
  t.is(logged.length, 2, logged.join('\n'));
});

test('a Redis that stops answering delays the requests under way by 100 ms and no later one', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits, logged } = await replica(t, server);
  await until(() => isShared(limits));
  t.teardown(() => server.thaw());
  server.freeze();
  const start = performance.now();
  const first = [limits.consume('tenant', 'acme', 10), limits.consume('tenant', 'acme', 10)];
  t.is(await countAdmitted(first), 2);
  const waited = performance.now() - start;
  t.true(waited >= 90 && waited < 1_000, `${waited} ms`);
  for (let i = 0; i < 8; i += 1) {
    const answer = limits.consume('tenant', 'acme', 10);
    t.false(answer instanceof Promise);
    t.true((await answer).allowed);
  }
  t.false((await limits.consume('tenant', 'acme', 10)).allowed);
  server.thaw();
  await until(() => isShared(limits));
  t.true(logged.length === 0 || logged.length === 2, logged.join('\n'));
});

test('a Redis that refuses to write is left alone, and used again when it takes writes', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { limits, logged } = await replica(t, server);
  await until(() => isShared(limits));
  const admin = server.client();
  await admin.replicaof('127.0.0.1', '1');
  t.true((await limits.consume('tenant', 'acme', 2)).allowed);
  t.false(limits.consume('tenant', 'acme', 2) instanceof Promise);
  t.false((await limits.consume('tenant', 'acme', 2)).allowed);
  t.is(logged.length, 1, logged.join('\n'));
  await admin.replicaof('NO', 'ONE');
  await until(() => isShared(limits));
  t.is(logged.length, 2, logged.join('\n'));
});

test('a Redis that was never there costs nothing', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  await server.kill();
  const { limits } = await replica(t, server);
  for (let i = 0; i < 3; i += 1) t.false(limits.consume('tenant', 'acme', 2) instanceof Promise);
  t.false((await limits.consume('tenant', 'acme', 2)).allowed);
});
