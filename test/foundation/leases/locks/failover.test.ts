import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { openDatabase } from '../../../../foundation/data/database.ts';
import { unobserved } from '../../../../foundation/leases/locks/lock-metrics.ts';
import type { Lock, OpenLocks } from '../../../../foundation/leases/locks/locks.ts';
import { openDelegatedClaims } from '../../../../foundation/leases/locks/open-delegated-claims.ts';
import { openLocks } from '../../../../foundation/leases/locks/open-locks.ts';
import { type OwnRedis, startOwnRedis } from '../../../kernel/limits/own-redis.ts';
import type { FreshDatabase } from '../../../support/databases.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { until } from '../../../support/until.ts';
import { clock, ids, onEnd, openTestDatabase, replicaOf, SHORT_TIMES, silent } from './forms.ts';

const PATIENT = 60_000;

/** A process of the gateway, with a database connection and a Redis connection of its own. */
interface Process {
  readonly locks: OpenLocks;
  /** True while Redis grants locks alone, as far as this process knows. */
  isRedisAlone(): boolean;
}

async function startProcess(
  t: ExecutionContext,
  fresh: FreshDatabase,
  redisPort: number | undefined,
  databaseUrl = fresh.options.url,
): Promise<Process> {
  const database = await openDatabase({ ...fresh.options, url: databaseUrl });
  onEnd(t, () => database.close());
  const redis =
    redisPort === undefined
      ? undefined
      : new Redis({ host: '127.0.0.1', port: redisPort, lazyConnect: true, retryStrategy: () => null });
  let isAlone = false;
  const observer = {
    ...unobserved,
    redisAlone: (is: boolean) => {
      isAlone = is;
    },
  };
  const parts = { redis, database, clock, ids, log: silent, observer, times: SHORT_TIMES };
  const claims = await openDelegatedClaims(parts);
  return { locks: replicaOf(t, claims).locks, isRedisAlone: () => isAlone };
}

/** Two processes over one database and one Redis, of which Redis grants alone. */
async function startTwo(t: ExecutionContext, family: 'postgres' | 'mysql' = 'postgres') {
  const server = await startOwnRedis(t);
  if (server === undefined) return undefined;
  const opened = await openTestDatabase(t, family);
  if (opened === undefined) return undefined;
  const { fresh } = opened;
  const one = await startProcess(t, fresh, server.port);
  const two = await startProcess(t, fresh, server.port);
  await until(() => one.isRedisAlone() && two.isRedisAlone(), PATIENT);
  return { server, fresh, one, two };
}

/** Workers that count under one lock, and see when two are inside at once. */
class Counting {
  inside = 0;
  most = 0;
  count = 0;
  lost = 0;
  readonly fences: number[] = [];
  readonly failures: string[] = [];
  #isOver = false;
  readonly #workers: Promise<void>[] = [];

  add(locks: OpenLocks, workers: number): this {
    for (let index = 0; index < workers; index += 1) this.#workers.push(this.#work(locks));
    return this;
  }

  /** Resolves when so many more were counted. */
  async progress(more: number): Promise<void> {
    const goal = this.count + more;
    await until(() => this.count >= goal, PATIENT);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
  }

  async #work(locks: OpenLocks): Promise<void> {
    while (!this.#isOver) {
      try {
        await locks.withLock('counter', { wait: 60_000 }, (lock) => this.#inside(lock));
      } catch (error) {
        this.failures.push((error as { code?: string }).code ?? String(error));
        await nextTurn();
      }
    }
  }

  async #inside(lock: Lock): Promise<void> {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    this.fences.push(lock.fence);
    const read = this.count;
    await nextTurn();
    this.count = read + 1;
    if (lock.signal.aborted) this.lost += 1;
    this.inside -= 1;
  }
}

/** What a change of stores must not do: two holders, fences that fall, or waiters who are given up. */
function assertExclusive(t: ExecutionContext, counting: Counting): void {
  t.is(counting.most, 1);
  t.is(counting.count, counting.fences.length);
  for (const [index, fence] of counting.fences.slice(1).entries()) {
    if (fence <= counting.fences[index]!) t.fail(`fence ${fence} follows ${counting.fences[index]}`);
  }
  t.deepEqual(counting.failures, []);
}

async function databaseNow(fresh: FreshDatabase): Promise<number> {
  const [row] = await fresh.ask('select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now');
  return Number(row?.now);
}

/** Suspends the delegation for a minute, as a process without Redis would. */
async function suspend(fresh: FreshDatabase): Promise<void> {
  const now = await databaseNow(fresh);
  await fresh.ask(
    `update kernel_lock_delegation set suspended_since = ${now}, suspended_until = ${now + 60_000_000}`,
  );
}

/** Sees to it that nobody else has a lock while it is held. */
async function assertHeld(t: ExecutionContext, lock: Lock, others: OpenLocks): Promise<void> {
  t.false(lock.signal.aborted);
  // On a busy machine Redis may be too slow for one question: who was refused has no lock either.
  const other = others.tryAcquire(lock.key).catch((error: { code?: string }) => error.code);
  t.true([undefined, 'lock.unavailable'].includes((await other) as undefined));
}

test('locks outlive Redis: it is killed and started anew while two processes count under a lock', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const start = async () => {
    const database = await openDatabase(opened.fresh.options);
    onEnd(t, () => database.close());
    const locks = await openLocks({ redisUrl, database, clock, ids, log: silent });
    onEnd(t, () => locks.close());
    return locks;
  };
  const [one, two] = [await start(), await start()];
  const counting = new Counting().add(one, 3).add(two, 3);
  const held = await one.acquire('held');
  await counting.progress(100);
  await server.kill();
  await counting.progress(100);
  await assertHeld(t, held, two);
  await server.start();
  await counting.progress(100);
  await assertHeld(t, held, two);
  await server.kill();
  await server.start();
  await counting.progress(100);
  await assertHeld(t, held, two);
  await counting.end();
  await held.release();
  assertExclusive(t, counting);
  t.is(counting.lost, 0);
});

for (const family of ['postgres', 'mysql'] as const) {
  test(`${family}: over the whole way to the database and back, one holds and fences grow`, async (t) => {
    const there = await startTwo(t, family);
    if (there === undefined) return;
    const { server, one, two } = there;
    const counting = new Counting().add(one.locks, 3).add(two.locks, 3);
    const held = await one.locks.acquire('held');
    await counting.progress(50);
    await server.kill();
    await until(() => !one.isRedisAlone() && !two.isRedisAlone(), PATIENT);
    await counting.progress(50);
    await assertHeld(t, held, two.locks);
    await server.start();
    await until(() => one.isRedisAlone() && two.isRedisAlone(), PATIENT);
    await counting.progress(50);
    await assertHeld(t, held, two.locks);
    await counting.end();
    await held.release();
    assertExclusive(t, counting);
    t.is(counting.lost, 0);
  });
}

test('a Redis that comes back empty at once gives no lock that another holds', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, one, two } = there;
  const held = await one.locks.acquire('held');
  await server.kill();
  await server.start();
  const taken = two.locks.acquire('held', { wait: 60_000 });
  await until(() => one.isRedisAlone() && two.isRedisAlone(), PATIENT);
  await assertHeld(t, held, two.locks);
  const isHeld = await Promise.race([taken, nextTurn('held')]);
  t.is(isHeld, 'held');
  await held.release();
  const next = await taken;
  t.true(next.fence > held.fence);
  await next.release();
});

test('a Redis that comes back with old data gives no lock that another holds', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, one, two } = there;
  await server.client().save();
  const held = await one.locks.acquire('held');
  await server.kill();
  await server.start();
  t.is(await server.client().exists('{svc:lock}:mark'), 1);
  const taken = two.locks.acquire('held', { wait: 60_000 });
  await until(() => !one.isRedisAlone(), PATIENT);
  await until(() => one.isRedisAlone() && two.isRedisAlone(), PATIENT);
  await assertHeld(t, held, two.locks);
  t.is(await Promise.race([taken, nextTurn('held')]), 'held');
  await held.release();
  t.true((await taken).fence > held.fence);
});

test('an emptied Redis gives no lock that another holds', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, one, two } = there;
  const held = await one.locks.acquire('held');
  await server.client().flushall();
  t.is(await two.locks.tryAcquire('other').catch(() => undefined), undefined);
  await until(() => one.isRedisAlone() === false, PATIENT);
  await until(() => one.isRedisAlone() && two.isRedisAlone(), PATIENT);
  await assertHeld(t, held, two.locks);
  await held.release();
  const next = await two.locks.acquire('held');
  t.true(next.fence > held.fence);
});

test('a Redis that stops answering is as good as a dead one', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, one, two } = there;
  t.teardown(() => server.thaw());
  const counting = new Counting().add(one.locks, 2).add(two.locks, 2);
  await counting.progress(50);
  server.freeze();
  await until(() => !one.isRedisAlone() && !two.isRedisAlone(), PATIENT);
  await counting.progress(50);
  server.thaw();
  await until(() => one.isRedisAlone() && two.isRedisAlone(), PATIENT);
  await counting.progress(50);
  await counting.end();
  assertExclusive(t, counting);
});

test('when one process alone loses Redis there is still one holder, and the other goes on', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  const way = await startTcpProxy(t, server.port);
  const cutOff = await startProcess(t, opened.fresh, way.port);
  const other = await startProcess(t, opened.fresh, server.port);
  await until(() => cutOff.isRedisAlone() && other.isRedisAlone(), PATIENT);
  const counting = new Counting().add(cutOff.locks, 2).add(other.locks, 2);
  const [here, there] = [await cutOff.locks.acquire('here'), await other.locks.acquire('there')];
  await counting.progress(50);
  await way.cut();
  await until(() => !other.isRedisAlone(), PATIENT);
  await (await other.locks.acquire('free', { wait: 4_000 })).release();
  await (await cutOff.locks.acquire('free', { wait: 20_000 })).release();
  await counting.progress(50);
  await assertHeld(t, here, other.locks);
  await assertHeld(t, there, cutOff.locks);
  await way.restore();
  await until(() => cutOff.isRedisAlone() && other.isRedisAlone(), PATIENT);
  await assertHeld(t, here, other.locks);
  await assertHeld(t, there, cutOff.locks);
  await counting.progress(50);
  await counting.end();
  assertExclusive(t, counting);
  t.is(counting.lost, 0);
});

test('while a lock cannot be brought back to Redis, Redis does not grant alone', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  const way = await startTcpProxy(t, server.port);
  const holder = await startProcess(t, opened.fresh, way.port);
  const other = await startProcess(t, opened.fresh, server.port);
  await until(() => holder.isRedisAlone() && other.isRedisAlone(), PATIENT);
  const held = await holder.locks.acquire('held');
  await way.cut();
  await until(() => !holder.isRedisAlone() && !other.isRedisAlone(), PATIENT);
  await (await holder.locks.acquire('free')).release();
  const state = '{svc:lock}:state:held';
  await server.client().hset(state, 'holder', 'another', 'until', 8_000_000_000_000_000);
  await way.restore();
  const restored = performance.now();
  await until(() => {
    if (holder.isRedisAlone() || other.isRedisAlone()) throw new Error('Redis grants alone');
    return performance.now() - restored > 2 * SHORT_TIMES.suspend;
  }, PATIENT);
  t.false(held.signal.aborted);
  await server.client().del(state);
  await until(() => holder.isRedisAlone() && other.isRedisAlone(), PATIENT);
  await assertHeld(t, held, other.locks);
  await held.release();
});

test('a lock that cannot be brought to the database is lost before the database grants it', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { fresh, one } = there;
  const held = await one.locks.acquire('held', { lease: 60_000 });
  const later = (await databaseNow(fresh)) + 60_000_000;
  await fresh.ask(
    `insert into kernel_locks (name, holder, fence, expires_at) values ('held', 'another', 1, ${later})`,
  );
  await suspend(fresh);
  const suspended = performance.now();
  await until(() => held.signal.aborted, PATIENT);
  t.true(performance.now() - suspended < SHORT_TIMES.settle);
});

test('a lock that lies in both stores has a fence above those of both', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, fresh, one } = there;
  await suspend(fresh);
  await until(() => !one.isRedisAlone(), PATIENT);
  const ahead = 8_000_000_000_000_000;
  await server.client().hset('{svc:lock}:state:k', 'fence', ahead);
  const first = await one.locks.withLock('k', {}, async ({ fence }) => fence);
  t.true(first > ahead);
  await fresh.ask(`update kernel_locks set fence = ${first + 1_000} where name = 'k'`);
  t.true((await one.locks.withLock('k', {}, async ({ fence }) => fence)) > first + 1_000);
});

test('a fence that is ahead of the clocks goes over to the database, and back', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, one, two } = there;
  const ahead = 8_000_000_000_000_000;
  await server.client().hset('{svc:lock}:state:k', 'fence', ahead);
  const held = await one.locks.acquire('k');
  t.is(held.fence, ahead + 1);
  await server.kill();
  await until(() => !one.isRedisAlone() && !two.isRedisAlone(), PATIENT);
  await (await two.locks.acquire('free')).release();
  await held.release();
  let last = held.fence;
  const next = () =>
    two.locks.withLock('k', {}, async ({ fence }) => {
      t.true(fence > last, `${fence} after ${last}`);
      last = fence;
    });
  await next();
  await server.start();
  await until(async () => {
    await next();
    return two.isRedisAlone();
  }, PATIENT);
  await next();
  t.true(last < ahead * 1.01);
});

test('a connection to Redis that is back at once changes nothing', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  const process = await startProcess(t, opened.fresh, server.port);
  const delegation = () => opened.fresh.ask('select * from kernel_lock_delegation');
  const isGranted = async () => {
    const lock = await process.locks.tryAcquire('other').catch(() => undefined);
    await lock?.release();
    return lock !== undefined;
  };
  let isUnchanged = false;
  // On a machine with much to do a connection may need too long.
  for (let attempt = 0; attempt < 5 && !isUnchanged; attempt += 1) {
    await until(() => process.isRedisAlone(), PATIENT);
    const held = await process.locks.acquire(`held ${attempt}`);
    const [before] = await delegation();
    await server.client().call('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(async () => !(await isGranted()), PATIENT);
    await until(isGranted, PATIENT);
    const [after] = await delegation();
    isUnchanged = JSON.stringify(after) === JSON.stringify(before);
    t.false(held.signal.aborted);
  }
  t.true(isUnchanged);
});

test('a process that starts while Redis is away waits until no lock can lie in Redis alone', async (t) => {
  const there = await startTwo(t);
  if (there === undefined) return;
  const { server, fresh, one } = there;
  const way = await startTcpProxy(t, server.port);
  await way.cut();
  const held = await one.locks.acquire('held');
  const late = await startProcess(t, fresh, way.port);
  t.is(await late.locks.tryAcquire('held'), undefined);
  const taken = late.locks.acquire('held', { wait: 60_000 });
  await (await late.locks.acquire('free')).release();
  await assertHeld(t, held, late.locks);
  await held.release();
  t.true((await taken).fence > held.fence);
});

test('without the database nothing new is locked, and what is held is lost before others can have it', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  const way = await startTcpProxy(t, 5432);
  const url = new URL(opened.fresh.options.url!);
  url.port = String(way.port);
  const cutOff = await startProcess(t, opened.fresh, server.port, url.href);
  await until(() => cutOff.isRedisAlone(), PATIENT);
  const held = await cutOff.locks.acquire('held', { lease: 60_000 });
  way.silence();
  const started = performance.now();
  await until(() => held.signal.aborted, PATIENT);
  t.true(performance.now() - started < 20_000);
  await t.throwsAsync(cutOff.locks.acquire('other'), { code: 'lock.unavailable' });
  t.true(performance.now() - started < 50_000);
  await way.restore();
  await (await cutOff.locks.acquire('other', { wait: 20_000 })).release();
});

test('a deployment goes from no Redis to Redis and back, and always one process holds a lock', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  const start = (port: number | undefined) => startProcess(t, opened.fresh, port);
  const before = await start(undefined);
  const first = await before.locks.acquire('k');
  const withRedis = await start(server.port);
  await assertHeld(t, first, withRedis.locks);
  const second = withRedis.locks.acquire('k', { wait: 60_000 });
  await first.release();
  t.true((await second).fence > first.fence);
  await assertHeld(t, await second, before.locks);
  await before.locks.close();
  await until(() => withRedis.isRedisAlone(), PATIENT);
  t.false((await second).signal.aborted);
  const after = await start(undefined);
  const third = after.locks.acquire('k', { wait: 60_000 });
  await (await after.locks.acquire('free')).release();
  await assertHeld(t, await second, after.locks);
  await (await second).release();
  t.true((await third).fence > (await second).fence);
  await withRedis.locks.close();
  const dataset = async () =>
    (await opened.fresh.ask('select dataset from kernel_lock_delegation'))[0]?.dataset;
  t.not(await dataset(), '');
  await until(async () => (await dataset()) === '', PATIENT);
  t.false((await third).signal.aborted);
  const late = await start(undefined);
  await (await late.locks.acquire('free', { wait: 4_000 })).release();
});

test('a Redis that does not say which server it is is not used', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const opened = await openTestDatabase(t, 'postgres');
  if (opened === undefined) return;
  await refuse(server, 'info');
  const process = await startProcess(t, opened.fresh, server.port);
  await (await process.locks.acquire('k')).release();
  t.is(await server.client().exists('{svc:lock}:state:k'), 0);
});

async function refuse(server: OwnRedis, command: string): Promise<void> {
  await server.client().call('ACL', 'SETUSER', 'default', `-${command}`);
}
