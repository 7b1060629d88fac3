import test from 'ava';
import { createLockSql } from '../../../../foundation/leases/locks/lock-sql.ts';
import { createPermits } from '../../../../foundation/leases/permits/create-permits.ts';
import { createDatabaseStore } from '../../../../foundation/leases/permits/database-store.ts';
import { createMemoryStore } from '../../../../foundation/leases/permits/memory-store.ts';
import { openPermits } from '../../../../foundation/leases/permits/open-permits.ts';
import { permitMetrics } from '../../../../foundation/leases/permits/permit-metrics.ts';
import { permitRegistration } from '../../../../foundation/leases/permits/permit-tables.ts';
import { sweepPlaces } from '../../../../foundation/leases/permits/places.ts';
import { createMetricRegistry } from '../../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../../foundation/observability/plugin-metrics.ts';
import { startOwnRedis } from '../../../kernel/limits/own-redis.ts';
import { eachDatabase, FAMILIES } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { clock, ids, onEnd, openTestDatabase, silent } from '../locks/forms.ts';
import { granted } from './forms.ts';

for (const family of FAMILIES) {
  test(`${family}: without Redis places are in the database, and on SQLite in the process`, async (t) => {
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return;
    const { database, fresh } = opened;
    const permits = await openPermits({
      redisUrl: undefined,
      prefix: 'p',
      database,
      clock,
      ids,
      log: silent,
    });
    onEnd(t, () => permits.close());
    granted(await permits.tryAcquire('k', { name: 'a', limit: 2 }));
    const rows = fresh.ask("select name from kernel_permits where name = 'a'");
    if (family === 'sqlite') await t.throwsAsync(rows);
    else t.deepEqual(await rows, [{ name: 'a' }]);
  });

  test(`${family}: migration and entity say the same, and old places are swept and made anew`, async (t) => {
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return;
    const { database, fresh } = opened;
    await database.register(permitRegistration);
    t.is(await database.schemaDrift(), '');
    const db = createLockSql(database, clock);
    const permits = createPermits({ store: createDatabaseStore(db), clock, ids, log: silent });
    onEnd(t, () => permits.close());
    const take = (name: string) => permits.tryAcquire('k', { name, limit: 3 });
    const first = granted(await take('a'));
    granted(await take('b'));
    await first.release();
    const places = async () =>
      (await fresh.ask('select slot from kernel_permits order by slot')).map(({ slot }) => slot);
    await sweepPlaces(db);
    t.deepEqual(await places(), [0, 1, 2], 'used within the hour');
    await fresh.ask('update kernel_permits set expires_at = 1 where slot <> 1');
    await sweepPlaces(db);
    t.deepEqual(await places(), [1]);
    granted(await take('c'));
    granted(await take('d'));
    t.is(await take('e'), 'full');
    t.deepEqual(await places(), [0, 1, 2]);
  });
}

eachDatabase(test, 'a permit inside a transaction is refused', async (t, fresh) => {
  const { openDatabase } = await import('../../../../foundation/data/database.ts');
  const database = await openDatabase(fresh.options);
  onEnd(t, () => database.close());
  const permits = createPermits({ store: createMemoryStore(), clock, ids, log: silent });
  const inside = database.transaction(() => permits.tryAcquire('k', { name: 'a', limit: 1 }));
  await t.throwsAsync(inside, { message: /transaction waited for a permit/ });
});

test('a store whose answer was lost is told to forget the place', async (t) => {
  const store = createMemoryStore();
  let fails = true;
  const losing: typeof store = {
    ...store,
    async take(place) {
      const outcome = await store.take(place);
      if (fails) throw new Error('the connection broke');
      return outcome;
    },
  };
  const permits = createPermits({ store: losing, clock, ids, log: silent });
  await t.throwsAsync(permits.tryAcquire('k', { name: 'a', limit: 1 }), { code: 'permit.unavailable' });
  fails = false;
  await until(async () => typeof (await permits.tryAcquire('k', { name: 'a', limit: 1 })) !== 'string');
  t.is(await permits.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
});

test('metrics tell what is held, refused and lost', async (t) => {
  const registry = createMetricRegistry();
  const observer = permitMetrics(createPluginMetrics(registry, 'kernel'));
  const permits = createPermits({ store: createMemoryStore(), clock, ids, log: silent, observer });
  granted(await permits.tryAcquire('k', { name: 'a', limit: 1 }));
  await permits.tryAcquire('k', { name: 'a', limit: 1 });
  await permits.tryAcquire('k', { name: 'b', limit: 1 });
  const held = await registry.prometheus.metrics();
  t.regex(held, /^svc_permits_held 1$/m);
  t.regex(held, /^svc_permit_refused_total{reason="held"} 1$/m);
  t.regex(held, /^svc_permit_refused_total{reason="full"} 1$/m);
  await permits.close();
  const closed = await registry.prometheus.metrics();
  t.regex(closed, /^svc_permits_held 0$/m);
  t.regex(closed, /^svc_permit_lost_total 1$/m);
});

test('when Redis dies, holders stay, the database bounds who comes, and Redis is used again when it is back', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { database, fresh } = (await openTestDatabase(t, 'sqlite'))!;
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const parts = { redisUrl, prefix: 'p', database, clock, ids, log: silent };
  const [one, two] = [await openPermits(parts), await openPermits(parts)];
  for (const permits of [one, two]) onEnd(t, () => permits.close());
  const names = async () =>
    (await fresh.ask('select name from kernel_permits where name is not null order by name')).map(
      ({ name }) => name,
    );

  const held = granted(await one.tryAcquire('k', { name: 'a', limit: 1, lease: 3_000 }));
  t.is(await two.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.deepEqual(await names(), [], 'the database hears nothing while Redis answers');

  await server.kill();
  const second = granted(await two.tryAcquire('k', { name: 'b', limit: 1, lease: 3_000 }));
  t.is(await one.tryAcquire('k', { name: 'c', limit: 1 }), 'full');
  await until(async () => (await names()).length === 2, 20_000);
  t.deepEqual(await names(), ['a', 'b'], 'who was in stays in, beyond the limit');
  t.true(await two.revoke('k', 'a'));
  await until(() => held.signal.aborted, 20_000);
  t.is((held.signal.reason as { code: string }).code, 'permit.revoked');
  await held.release();
  t.deepEqual(await two.find('k', 'b'), { note: '' });

  await server.start();
  await until(async () => {
    const outcome = await one.tryAcquire('again', { name: 'x', limit: 1_000 });
    if (typeof outcome === 'string') return false;
    const isInDatabase = (await names()).includes('x');
    await outcome.release();
    return !isInDatabase;
  }, 20_000);
  t.false(second.signal.aborted);
  await second.release();
  t.deepEqual(await names(), []);
});

test('a Redis that was emptied gives its holders their places again', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { database } = (await openTestDatabase(t, 'sqlite'))!;
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const permits = await openPermits({ redisUrl, prefix: 'p', database, clock, ids, log: silent });
  onEnd(t, () => permits.close());
  const held = granted(await permits.tryAcquire('k', { name: 'a', limit: 1, lease: 1_500 }));
  await server.client().flushall();
  await until(async () => (await permits.find('k', 'a')) !== undefined, 20_000);
  t.is(await permits.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.false(held.signal.aborted);
});

test('a Redis that is silent from the start delays the opening by little, and the database gives the places', async (t) => {
  t.timeout(60_000);
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { database, fresh } = (await openTestDatabase(t, 'sqlite'))!;
  server.freeze();
  const started = performance.now();
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const permits = await openPermits({ redisUrl, prefix: 'p', database, clock, ids, log: silent });
  onEnd(t, () => permits.close());
  granted(await permits.tryAcquire('k', { name: 'a', limit: 1 }));
  t.true(performance.now() - started < 10_000);
  t.is((await fresh.ask("select name from kernel_permits where name = 'a'")).length, 1);
  server.thaw();
});
