import test from 'ava';
import { openDatabase } from '../../../../foundation/data/database.ts';
import { createDatabaseStore } from '../../../../foundation/leases/locks/database-store.ts';
import type { LockHints } from '../../../../foundation/leases/locks/lock-hints.ts';
import { createLockSql } from '../../../../foundation/leases/locks/lock-sql.ts';
import { sweepLocks } from '../../../../foundation/leases/locks/lock-sweep.ts';
import { lockRegistration } from '../../../../foundation/leases/locks/lock-tables.ts';
import { createStoreClaims } from '../../../../foundation/leases/locks/store-claims.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../../support/databases.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { until } from '../../../support/until.ts';
import { clock, ids, onEnd, replicaOf } from './forms.ts';

async function open(t: Parameters<typeof onEnd>[0], fresh: FreshDatabase, url = fresh.options.url) {
  const database = await openDatabase({ ...fresh.options, url });
  onEnd(t, () => database.close());
  await database.register(lockRegistration);
  const db = createLockSql(database, clock);
  const start = (hints?: LockHints) =>
    replicaOf(t, createStoreClaims({ store: createDatabaseStore(db, hints), clock, ids })).locks;
  return { database, db, start };
}

eachDatabase(test, 'the tables are those of the entities', async (t, fresh) => {
  const { database } = await open(t, fresh);
  t.is(await database.schemaDrift(), '');
});

eachDatabase(test, 'a fence grows although its row is gone, or ahead of the clock', async (t, fresh) => {
  const { start } = await open(t, fresh);
  const locks = start();
  const fenceOf = () => locks.withLock('k', {}, async ({ fence }) => fence);
  const first = await fenceOf();
  t.true(Math.abs(first / 1_000 - Date.now()) < 60_000, 'microseconds of the clock');
  await fresh.ask('delete from kernel_locks');
  t.true((await fenceOf()) > first);
  const ahead = 8_000_000_000_000_000;
  await fresh.ask(`update kernel_locks set fence = ${ahead}`);
  t.is(await fenceOf(), ahead + 1);
});

eachDatabase(test, 'a lock is kept at its key alone, compared to the last character', async (t, fresh) => {
  const { start } = await open(t, fresh);
  const locks = start();
  const held = await Promise.all(["it's; -- ?", '%', 'é', 'É', '😀'].map((key) => locks.acquire(key)));
  const rows = await fresh.ask('select name from kernel_locks order by name');
  t.is(rows.length, 5);
  await Promise.all(held.map((lock) => lock.release()));
});

eachDatabase(test, 'old locks and tickets are swept, and held or fresh ones are not', async (t, fresh) => {
  const { start, db } = await open(t, fresh);
  const locks = start();
  const held = await locks.acquire('held');
  await (await locks.acquire('fresh')).release();
  const old = Date.now() * 1_000 - 700_000_000;
  const many = Array.from({ length: 1_200 }, (_, index) => `('old ${index}', '', 1, ${old})`);
  await fresh.ask(`insert into kernel_locks (name, holder, fence, expires_at) values ${many.join(', ')}`);
  await fresh.ask(
    `insert into kernel_lock_tickets (id, name, position, expires_at) values ('t', 'old', 1, ${old})`,
  );
  await sweepLocks(db);
  t.deepEqual(await fresh.ask('select name from kernel_locks order by name'), [
    { name: 'fresh' },
    { name: 'held' },
  ]);
  t.deepEqual(await fresh.ask('select id from kernel_lock_tickets'), []);
  await held.release();
});

eachDatabase(
  test,
  'a hint wakes who waits in another process, and nobody is told who does not',
  async (t, fresh) => {
    const { start } = await open(t, fresh);
    const told: string[] = [];
    const listeners = new Set<(key: string) => void>();
    const hints: LockHints = {
      notify: (key) => {
        told.push(key);
        for (const listener of listeners) listener(key);
      },
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const [one, two] = [start(hints), start(hints)];
    t.is(listeners.size, 2);
    await (await one.acquire('k')).release();
    t.deepEqual(told, []);
    const held = await one.acquire('k');
    const next = two.acquire('k');
    await until(async () => (await fresh.ask('select id from kernel_lock_tickets')).length === 1, 20_000);
    await held.release();
    await (await next).release();
    t.deepEqual(told, ['k']);
    await two.close();
    t.is(listeners.size, 1);
  },
);

for (const family of ['postgres', 'mysql'] as const) {
  const port = family === 'postgres' ? 5432 : 3306;
  for (const away of ['cut', 'silence'] as const) {
    test(`${family}: with the database away (${away}) locks are refused in time, and come back with it`, async (t) => {
      const fresh = await freshDatabase(t, family);
      if (fresh === undefined) return;
      const proxy = await startTcpProxy(t, port);
      const url = new URL(fresh.options.url!);
      url.port = String(proxy.port);
      const { start } = await open(t, fresh, url.href);
      const locks = start();
      const held = await locks.acquire('held', { lease: 2_000 });
      await proxy[away]();
      const started = performance.now();
      const refused = t.throwsAsync(locks.acquire('k'), { code: 'lock.unavailable' });
      await until(() => held.signal.aborted, 20_000);
      await refused;
      const waited = performance.now() - started;
      t.true(waited > 3_000 && waited < 20_000, `${waited} ms`);
      await held.release();
      await proxy.restore();
      await until(async () => {
        const lock = await locks.tryAcquire('k').catch(() => undefined);
        await lock?.release();
        return lock !== undefined;
      }, 20_000);
    });
  }
}
