import test, { type ExecutionContext } from 'ava';
import { createRedisStore } from '../../../../foundation/leases/locks/redis-store.ts';
import { createStoreClaims } from '../../../../foundation/leases/locks/store-claims.ts';
import { type OwnRedis, startOwnRedis } from '../../../kernel/limits/own-redis.ts';
import { until } from '../../../support/until.ts';
import { clock, ids, replicaOf } from './forms.ts';

async function open(t: ExecutionContext, server: OwnRedis) {
  const logged: string[] = [];
  const log = {
    info: (line: string) => logged.push(line),
    warn: (_: unknown, line: string) => logged.push(line),
  };
  const store = createRedisStore({ redis: server.client(), ids, log: log as never });
  await store.known;
  return { store, logged, locks: replicaOf(t, createStoreClaims({ store, clock, ids })).locks };
}

test('a fence grows although Redis was emptied, or is ahead of its clock', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { locks } = await open(t, server);
  const fenceOf = () => locks.withLock('k', {}, async ({ fence }) => fence);
  const first = await fenceOf();
  t.true(Math.abs(first / 1_000 - Date.now()) < 60_000, 'microseconds of the clock');
  await server.client().flushall();
  t.true((await fenceOf()) > first);
  await server.client().hset('{svc:lock}:state:k', 'fence', 8_000_000_000_000_000);
  t.is(await fenceOf(), 8_000_000_000_000_001);
});

test('all that a lock leaves in Redis goes away by itself', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { locks } = await open(t, server);
  const { locks: others } = await open(t, server);
  const held = await locks.acquire('k', { lease: 60_000 });
  await t.throwsAsync(others.acquire('k', { wait: 300 }), { code: 'lock.timeout' });
  const waiting = others.acquire('k');
  const client = server.client();
  await until(async () => (await client.keys('*')).length === 4, 20_000);
  t.true((await client.pttl('{svc:lock}:state:k')) <= 600_000);
  for (const part of ['line', 'places']) {
    const left = await client.pttl(`{svc:lock}:${part}:k`);
    t.true(left > 0 && left <= 3_000, `${part}: ${left}`);
  }
  await held.release();
  await (await waiting).release();
  t.deepEqual((await client.keys('*')).sort(), ['{svc:lock}:mark', '{svc:lock}:state:k']);
  const left = await client.pttl('{svc:lock}:state:k');
  t.true(left > 0 && left <= 600_000, `${left}`);
});

test('the data has another name after it was emptied, and after the server was started anew', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { store, locks, logged } = await open(t, server);
  const names = [store.dataset()];
  await server.client().flushall();
  await t.throwsAsync(locks.tryAcquire('k'), { code: 'lock.unavailable' });
  await until(() => store.dataset() !== undefined, 20_000);
  names.push(store.dataset());
  await server.client().save();
  await server.kill();
  await until(() => store.dataset() === undefined, 20_000);
  await server.start();
  await until(() => store.dataset() !== undefined, 20_000);
  names.push(store.dataset());
  t.is(new Set(names).size, 3, names.join());
  t.is(logged.length, 4, logged.join('\n'));
});

test('a Redis that is away refuses locks in time, and one that is back grants them', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { locks, store } = await open(t, server);
  await server.kill();
  const started = performance.now();
  await t.throwsAsync(locks.acquire('k'), { code: 'lock.unavailable' });
  const waited = performance.now() - started;
  t.true(waited > 3_000 && waited < 20_000, `${waited} ms`);
  await server.start();
  await until(() => store.dataset() !== undefined, 20_000);
  await (await locks.acquire('k')).release();
});

test('a Redis that refuses to write is left alone until it takes writes', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { locks, store, logged } = await open(t, server);
  await server.client().replicaof('127.0.0.1', '1');
  await t.throwsAsync(locks.tryAcquire('k'), { code: 'lock.unavailable' });
  t.is(store.dataset(), undefined);
  await server.client().replicaof('NO', 'ONE');
  await until(() => store.dataset() !== undefined, 20_000);
  await (await locks.acquire('k')).release();
  t.is(logged.length, 2, logged.join('\n'));
});
