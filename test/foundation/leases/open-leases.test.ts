import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createLeases } from '../../../foundation/leases/create-leases.ts';
import { eventSignals } from '../../../foundation/leases/lease-signals.ts';
import { createMemoryStore } from '../../../foundation/leases/memory-store.ts';
import { openLeases } from '../../../foundation/leases/open-leases.ts';
import { openEvents } from '../../../foundation/messages/events/open-events.ts';
import { createLogger } from '../../../foundation/observability/logger.ts';
import { createMetricRegistry } from '../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';
import { type OwnRedis, startOwnRedis } from '../../kernel/limits/own-redis.ts';
import { FAMILIES } from '../../support/databases.ts';
import { unreadMetrics } from '../../support/metrics.ts';
import { available } from '../../support/services.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';
import { clock, connect, granted, ids, newMetrics, onEnd, openTestDatabase, silent } from './forms.ts';

const PATIENT = 20_000;
const common = { prefix: 'p', clock, ids, log: silent };

for (const family of FAMILIES) {
  test(`${family}: without Redis leases are in the database, and on SQLite in the process, but for strict ones`, async (t) => {
    const { database, fresh } = (await openTestDatabase(t, family)) ?? {};
    if (database === undefined) return;
    const leases = await openLeases({ ...common, redis: undefined, database, metrics: newMetrics() });
    onEnd(t, () => leases.close());
    granted(await leases.tryAcquire('k', { name: 'a', limit: 2 }));
    await leases.acquire('k2', { wait: 5_000 });
    granted(await leases.tryAcquire('k3', { strict: true }));
    const rows = await fresh!.ask(
      'select lease_key, name from kernel_leases where name is not null order by 1',
    );
    const strict = { lease_key: 'k3', name: '' };
    const held = [{ lease_key: 'k', name: 'a' }, { lease_key: 'k2', name: '' }, strict];
    t.deepEqual(rows, family === 'sqlite' ? [strict] : held);
  });
}

for (const family of FAMILIES) {
  test(`${family}: a strict lease is found, listed and revoked like any other`, async (t) => {
    const { database } = (await openTestDatabase(t, family)) ?? {};
    if (database === undefined) return;
    const leases = await openLeases({ ...common, redis: undefined, database, metrics: newMetrics() });
    onEnd(t, () => leases.close());
    for (const strict of [true, false]) {
      const key = `k-${strict}`;
      const lease = granted(await leases.tryAcquire(key, { name: 'a', note: 'mine', strict }));
      t.deepEqual(await leases.find(key, 'a'), { note: 'mine' });
      t.deepEqual(await leases.list(key), [{ name: 'a', note: 'mine' }]);
      t.true(await leases.revoke(key, 'a'));
      t.true(lease.signal.aborted);
      await lease.release();
      t.is(await leases.find(key, 'a'), undefined);
      t.false(await leases.revoke(key, 'a'));
    }
  });
}

test('a lease inside a transaction is refused', async (t) => {
  const { database } = (await openTestDatabase(t, 'sqlite'))!;
  const leases = await openLeases({ ...common, redis: undefined, database, metrics: newMetrics() });
  const inside = database.transaction(() => leases.acquire('k'));
  await t.throwsAsync(inside, { message: /transaction waited for a lease/ });
  const trying = database.transaction(() => leases.tryAcquire('k'));
  await t.throwsAsync(trying, { message: /transaction waited for a lease/ });
});

test('a store whose answer was lost is asked to forget the lease', async (t) => {
  const store = createMemoryStore();
  let fails = true;
  const losing: typeof store = {
    ...store,
    async take(ticket, inLine) {
      const outcome = await store.take(ticket, inLine);
      if (fails) throw new Error('the connection broke');
      return outcome;
    },
  };
  const leases = createLeases({ ...common, store: losing, metrics: newMetrics() });
  await t.throwsAsync(leases.tryAcquire('k', { name: 'a' }), { code: 'lock.unavailable' });
  fails = false;
  await until(async () => typeof (await leases.tryAcquire('k', { name: 'a' })) !== 'string');
  t.is(await leases.tryAcquire('k', { name: 'b' }), 'full');
});

test('metrics count what is waited for, held, refused and lost', async (t) => {
  const registry = createMetricRegistry();
  const metrics = createPluginMetrics(registry, 'kernel');
  const leases = createLeases({ ...common, store: createMemoryStore(), metrics });
  const has = async (...lines: string[]) => {
    const text = (await registry.prometheus.metrics()).split('\n');
    for (const line of lines) t.true(text.includes(line), line);
  };
  await leases.acquire('k');
  await t.throwsAsync(leases.acquire('k', { wait: 50 }), { code: 'lock.timeout' });
  await t.throwsAsync(leases.acquire('k', { signal: AbortSignal.timeout(50) }));
  await t.throwsAsync(leases.acquire('k', { name: 'other' }), { code: 'lock.full' });
  granted(await leases.tryAcquire('n', { name: 'a' }));
  await leases.tryAcquire('n', { name: 'a' });
  await has(
    ...['acquired', 'timeout', 'aborted', 'refused'].map(
      (outcome) => `svc_lock_wait_seconds_count{outcome="${outcome}"} 1`,
    ),
    'svc_locks_held 1',
    'svc_permits_held 1',
    'svc_permit_refused_total{reason="held"} 1',
    'svc_permit_refused_total{reason="full"} 1',
  );
  await leases.close();
  await has('svc_locks_held 0', 'svc_lock_lost_total 1', 'svc_permits_held 0', 'svc_permit_lost_total 1');
});

test('the log says which lease was lost', async (t) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const { logger: log } = createLogger({ level: 'warn', destination });
  const store = createMemoryStore();
  const leases = createLeases({ ...common, log, store, metrics: newMetrics() });
  await leases.acquire('report-of-may');
  await leases.close();
  await until(() => lines.length > 0);
  t.like(JSON.parse(lines[0]!), { msg: 'a lease was lost while it was held', lease: 'report-of-may' });
});

test('the log says why a lease was lost', async (t) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const { logger: log } = createLogger({ level: 'warn', destination });
  const store = {
    ...createMemoryStore(),
    isLeased: true,
    renew: () => Promise.reject(new Error('permission denied for table kernel_leases')),
  };
  const leases = createLeases({ ...common, log, store, metrics: newMetrics() });
  const lease = await leases.acquire('report-of-may', { ttl: 1_000 });
  await until(() => lease.signal.aborted);
  const line = JSON.parse(lines[0]!);
  t.like(line, { msg: 'a lease was lost while it was held', lease: 'report-of-may' });
  t.is(line.err.message, 'permission denied for table kernel_leases');
});

test('signals travel to another process by the events of the gateway', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const channel = `test-${randomBytes(8).toString('hex')}`;
  const store = createMemoryStore();
  const open = async () => {
    const events = openEvents({
      redis: await connect(t, 6379),
      channel,
      clock,
      ids,
      log: silent,
      metrics: unreadMetrics(),
    });
    onEnd(t, () => events.close());
    const leases = createLeases({ ...common, store, metrics: newMetrics(), signals: eventSignals(events) });
    onEnd(t, () => leases.close());
    return leases;
  };
  const [one, two] = [await open(), await open()];
  const lease = granted(await one.tryAcquire('k', { name: 'a', limit: 2 }));
  const other = granted(await one.tryAcquire('k', { name: 'b', limit: 2 }));
  // An event that is sent before both are connected is lost; there is no renewal in memory that would make up for it.
  await until(async () => (await two.revoke('k', 'a')) && lease.signal.aborted, PATIENT);
  t.is((lease.signal.reason as { code: string }).code, 'permit.revoked');
  t.false(other.signal.aborted);
});

/** Two processes over one database; each has a connection to Redis of its own, through these ports. */
async function startTwo(t: ExecutionContext, server: OwnRedis, ports = [server.port, server.port]) {
  const { database, fresh } = (await openTestDatabase(t, 'sqlite'))!;
  const open = async (port: number | undefined) => {
    const registry = createMetricRegistry();
    const metrics = createPluginMetrics(registry, 'kernel');
    const redis = await connect(t, port);
    const leases = await openLeases({ ...common, redis, database, metrics });
    onEnd(t, () => leases.close());
    return { leases, redis, registry };
  };
  const names = async () =>
    (await fresh.ask('select name from kernel_leases where name is not null order by name')).map(
      ({ name }) => name,
    );
  return { one: await open(ports[0]), two: await open(ports[1]), names };
}

test('when Redis dies, holders stay, the database bounds who comes, and Redis is used again when it is back', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { one, two, names } = await startTwo(t, server);
  const isAlone = async () => /^svc_locks_redis_alone 1$/m.test(await one.registry.prometheus.metrics());
  t.true(await isAlone());
  const held = granted(await one.leases.tryAcquire('k', { name: 'a', limit: 1, ttl: 20_000 }));
  t.is(await two.leases.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.deepEqual(await names(), [], 'the database hears nothing while Redis answers');

  await server.kill();
  await until(async () => (await names()).length === 1, PATIENT);
  t.deepEqual(await names(), ['a'], 'who holds a lease takes it along at once, not at its next third');
  t.is(await two.leases.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.false(await isAlone());
  const second = granted(await two.leases.tryAcquire('k', { name: 'b', limit: 2 }));
  t.true(await two.leases.revoke('k', 'a'));
  await until(() => held.signal.aborted, PATIENT);
  t.is((held.signal.reason as { code: string }).code, 'permit.revoked');
  await held.release();
  t.deepEqual(await two.leases.find('k', 'b'), { note: '' });

  await server.start();
  await until(() => one.redis.isUp() && two.redis.isUp(), PATIENT);
  // Until the holder has told Redis of itself, another one may get in; it must not stay.
  await until(async () => {
    const lease = await one.leases.tryAcquire('k', { name: 'c', limit: 1 });
    if (typeof lease !== 'string') await lease.release();
    return lease === 'full';
  }, PATIENT);
  t.false(second.signal.aborted);
  granted(await one.leases.tryAcquire('again', { name: 'x' }));
  t.deepEqual(await names(), ['b'], 'the database hears of new leases no more');
  await second.release();
  t.deepEqual(await names(), []);
});

test('locks outlive Redis: it is killed and started anew while two processes count under a lease', async (t) => {
  t.timeout(90_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { one, two, names } = await startTwo(t, server);
  const seen = { holders: 0, most: 0, rounds: 0 };
  let isOver = false;
  const workers = [one, two, one, two].map(async ({ leases }) => {
    while (!isOver) {
      await leases.withLease('count', { wait: 60_000 }, async ({ signal }) => {
        seen.holders += 1;
        seen.most = Math.max(seen.most, seen.holders);
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
        seen.rounds += 1;
        seen.holders -= 1;
        signal.throwIfAborted();
      });
    }
  });
  const more = async () => {
    const before = seen.rounds;
    await until(() => seen.rounds > before + 10, PATIENT);
  };
  await more();
  await server.kill();
  await more();
  await until(async () => (await names()).length === 1, PATIENT);
  await server.start();
  await until(() => one.redis.isUp() && two.redis.isUp(), PATIENT);
  await more();
  isOver = true;
  await Promise.all(workers);
  t.is(seen.most, 1);
});

test('while one process alone reaches Redis a name may be held twice, a strict one never', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const proxy = await startTcpProxy(t, server.port);
  const { one, two } = await startTwo(t, server, [server.port, proxy.port]);
  const strict = granted(await one.leases.tryAcquire('strict', { strict: true }));
  await proxy.cut();
  await until(() => !two.redis.isUp(), PATIENT);
  t.true(one.redis.isUp());
  const first = granted(await one.leases.tryAcquire('k', { ttl: 20_000 }));
  const second = await two.leases.acquire('k', { ttl: 20_000 });
  t.is(await two.leases.tryAcquire('strict', { strict: true }), 'held');
  t.false(first.signal.aborted || strict.signal.aborted);
  await strict.release();
  granted(await two.leases.tryAcquire('strict', { strict: true }));
  await Promise.all([first.release(), second.release()]);
});

test('a Redis that was emptied gives its holders their leases again', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { leases } = (await startTwo(t, server)).one;
  const held = granted(await leases.tryAcquire('k', { name: 'a', limit: 1, ttl: 1_500 }));
  await server.client().flushall();
  await until(async () => (await leases.find('k', 'a')) !== undefined, PATIENT);
  t.is(await leases.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.false(held.signal.aborted);
});

test('all that a lease leaves in Redis goes away by itself', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { one, two } = await startTwo(t, server);
  const client = server.client();
  const keys = async () => (await client.keys('{*')).sort();
  const held = await one.leases.acquire('k', { ttl: 60_000 });
  const waiting = two.leases.acquire('k');
  waiting.catch(() => {});
  await until(async () => (await keys()).length === 4, PATIENT);
  for (const [part, most] of Object.entries({
    until: 60_000,
    holders: 60_000,
    'line:': 3_000,
    'places:': 3_000,
  })) {
    const left = await client.pttl(`{p:k}:${part}`);
    t.true(left > 0 && left <= most, `${part}: ${left}`);
  }
  await held.release();
  await (await waiting).release();
  t.deepEqual(await keys(), []);
});

test('a Redis that is silent from the start delays the opening by little, and the database grants the leases', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  server.freeze();
  const started = performance.now();
  const { one, names } = await startTwo(t, server);
  granted(await one.leases.tryAcquire('k', { name: 'a', limit: 1 }));
  t.true(performance.now() - started < 40_000);
  t.deepEqual(await names(), ['a']);
  server.thaw();
});
