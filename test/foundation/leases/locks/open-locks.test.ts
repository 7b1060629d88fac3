import test from 'ava';
import { assertOutsideTransaction } from '../../../../foundation/data/transaction-guard.ts';
import { lockMetrics } from '../../../../foundation/leases/locks/lock-metrics.ts';
import { openLocks } from '../../../../foundation/leases/locks/open-locks.ts';
import { createMetricRegistry } from '../../../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../../../foundation/observability/plugin-metrics.ts';
import { startOwnRedis } from '../../../kernel/limits/own-redis.ts';
import { FAMILIES } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { clock, ids, onEnd, openTestDatabase, silent } from './forms.ts';

for (const family of FAMILIES) {
  test(`${family}: without Redis the database grants locks at once, and SQLite leaves it to the process`, async (t) => {
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return;
    const { database, fresh } = opened;
    const locks = await openLocks({ redisUrl: undefined, database, clock, ids, log: silent });
    onEnd(t, () => locks.close());
    const held = await locks.acquire('k', { wait: 5_000 });
    const rows = fresh.ask('select name from kernel_locks');
    if (family === 'sqlite') await t.throwsAsync(rows);
    else t.deepEqual(await rows, [{ name: 'k' }]);
    await held.release();
  });
}

test('with a Redis that is away from the start the database grants locks', async (t) => {
  const opened = await openTestDatabase(t, 'sqlite');
  const { database } = opened!;
  const locks = await openLocks({ redisUrl: 'redis://127.0.0.1:1', database, clock, ids, log: silent });
  onEnd(t, () => locks.close());
  const held = await locks.acquire('k', { wait: 5_000 });
  t.deepEqual(await opened!.fresh.ask('select name from kernel_locks'), [{ name: 'k' }]);
  await held.release();
});

test('a lock inside a transaction is refused', async (t) => {
  const { database } = (await openTestDatabase(t, 'sqlite'))!;
  const locks = await openLocks({ redisUrl: undefined, database, clock, ids, log: silent });
  const inside = database.transaction(() => locks.acquire('k'));
  await t.throwsAsync(inside, { message: /transaction waited for a lock/ });
  t.notThrows(() => assertOutsideTransaction('nothing'));
});

test('metrics tell how long was waited, what is held, what was lost, and who grants', async (t) => {
  const server = await startOwnRedis(t);
  if (server === undefined) return;
  const { database } = (await openTestDatabase(t, 'sqlite'))!;
  const registry = createMetricRegistry();
  const observer = lockMetrics(createPluginMetrics(registry, 'kernel'));
  const redisUrl = `redis://127.0.0.1:${server.port}`;
  const locks = await openLocks({ redisUrl, database, clock, ids, log: silent, observer });
  onEnd(t, () => locks.close());
  const value = async (line: string) => {
    const text = await registry.prometheus.metrics();
    return Number(
      text
        .split('\n')
        .find((candidate) => candidate.startsWith(`${line} `))
        ?.split(' ')
        .at(-1),
    );
  };
  const held = await locks.acquire('k');
  await t.throwsAsync(locks.acquire('k', { wait: 50 }), { code: 'lock.timeout' });
  await t.throwsAsync(locks.acquire('k', { signal: AbortSignal.timeout(50) }));
  t.is(await value('svc_locks_held'), 1);
  for (const outcome of ['acquired', 'timeout', 'aborted']) {
    t.is(await value(`svc_lock_wait_seconds_count{outcome="${outcome}"}`), 1, outcome);
  }
  t.is(await value('svc_locks_redis_alone'), 0);
  await until(async () => (await value('svc_locks_redis_alone')) === 1, 30_000);
  t.is(await value('svc_lock_lost_total'), 0);
  await locks.close();
  t.true(held.signal.aborted);
  t.is(await value('svc_lock_lost_total'), 1);
  t.is(await value('svc_locks_held'), 0);
});
