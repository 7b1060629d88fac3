import test from 'ava';
import type { Kysely, KyselyPlugin } from 'kysely';
import { openDatabase } from '../../../foundation/data/database.ts';
import { leaseRegistration, sweepLeases } from '../../../foundation/leases/lease-tables.ts';
import { createTableStore } from '../../../foundation/leases/table-store.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';
import { clock, granted, onEnd, replicaOf } from './forms.ts';

async function open(t: Parameters<typeof onEnd>[0], fresh: FreshDatabase, url = fresh.options.url) {
  const database = await openDatabase({ ...fresh.options, url });
  onEnd(t, () => database.close());
  await database.register(leaseRegistration);
  const store = createTableStore(database, clock);
  return { database, store, leases: replicaOf(t, store).leases };
}

eachDatabase(test, 'the tables are those of the entities', async (t, fresh) => {
  const { database } = await open(t, fresh);
  t.is(await database.schemaDrift(), '');
});

eachDatabase(test, 'a lease is kept at its key alone, compared to the last character', async (t, fresh) => {
  const { leases } = await open(t, fresh);
  const held = await Promise.all(["it's; -- ?", '%', 'é', 'É', '😀'].map((key) => leases.acquire(key)));
  const rows = await fresh.ask('select lease_key from kernel_leases order by lease_key');
  t.is(rows.length, 5);
  await Promise.all(held.map((lease) => lease.release()));
});

eachDatabase(test, 'old slots and tickets are swept, and held or fresh ones are not', async (t, fresh) => {
  const { database, leases } = await open(t, fresh);
  const sweep = () => sweepLeases(database, new AbortController().signal);
  const take = (name: string) => leases.tryAcquire('k', { name, limit: 3 });
  const first = granted(await take('a'));
  granted(await take('b'));
  await first.release();
  const slots = async () =>
    (await fresh.ask("select slot from kernel_leases where lease_key = 'k' order by slot")).map(
      ({ slot }) => slot,
    );
  await sweep();
  t.deepEqual(await slots(), [0, 1, 2], 'used within the hour');
  await fresh.ask('update kernel_leases set expires_at = 1 where slot <> 1');
  const old = Date.now() * 1_000 - 3_700_000_000;
  const many = Array.from({ length: 1_200 }, (_, index) => `('old ${index}', 0, null, '', '', 0, ${old})`);
  await fresh.ask(
    `insert into kernel_leases (lease_key, slot, name, ticket, note, revoked, expires_at) values ${many.join(', ')}`,
  );
  await fresh.ask(
    `insert into kernel_lease_tickets (id, lease_key, name, position, expires_at) values ('t', 'old', '', 1, ${old})`,
  );
  await sweep();
  t.deepEqual(await fresh.ask('select lease_key from kernel_leases'), [{ lease_key: 'k' }]);
  t.deepEqual(await slots(), [1]);
  t.deepEqual(await fresh.ask('select id from kernel_lease_tickets'), []);
  granted(await take('c'));
  granted(await take('d'));
  t.is(await take('e'), 'full');
  t.deepEqual(await slots(), [0, 1, 2]);
});

eachDatabase(test, 'further slots are made without reading those that there are', async (t, fresh) => {
  const { database } = await open(t, fresh);
  const slots = async () =>
    (await fresh.ask('select slot from kernel_leases order by slot')).map(({ slot }) => Number(slot));
  let mostRows = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      mostRows = Math.max(mostRows, result.rows.length);
      return result;
    },
  };
  const kysely = (database.system().getKysely() as Kysely<unknown>).withPlugin(counting);
  const system = () => ({ getKysely: () => kysely }) as unknown as ReturnType<typeof database.system>;
  const { leases } = replicaOf(t, createTableStore({ system, family: database.family }, clock));
  const take = async (name: string, limit: number) => granted(await leases.tryAcquire('k', { name, limit }));
  for (let n = 0; n < 33; n += 1) await take(`${n}`, 100);
  t.deepEqual(
    await slots(),
    Array.from({ length: 64 }, (_, n) => n),
  );
  await fresh.ask('delete from kernel_leases where slot in (0, 1, 20) or slot > 32');
  for (const name of ['a', 'b', 'c']) await take(name, 33);
  t.is(await leases.tryAcquire('k', { name: 'd', limit: 33 }), 'full');
  t.deepEqual(
    await slots(),
    Array.from({ length: 33 }, (_, n) => n),
  );
  t.true(mostRows <= 1, `${mostRows} rows were read`);
});

eachDatabase(test, 'a lease that was released by a clock that is ahead is free', async (t, fresh) => {
  const { leases } = await open(t, fresh);
  await (await leases.acquire('k')).release();
  await fresh.ask('update kernel_leases set expires_at = expires_at + 60000000');
  const lease = granted(await leases.tryAcquire('k'));
  t.false(lease.signal.aborted);
});

eachDatabase(test, 'what a clock that was far ahead has given ends within a minute', async (t, fresh) => {
  const { leases, store } = await open(t, fresh);
  const ahead = 34_560_000_000_000;
  const ticket = { key: 'k', name: '', limit: 1, ttl: 1_000, note: '', id: 'other' };
  const other = replicaOf(t, store).leases;
  granted(await other.tryAcquire('k'));
  await store.take(ticket, true);
  await fresh.ask(`update kernel_leases set expires_at = expires_at + ${ahead} where name is not null`);
  await fresh.ask(
    `update kernel_lease_tickets set position = position + ${ahead}, expires_at = expires_at + ${ahead}`,
  );
  t.is(await leases.tryAcquire('k'), 'held');
  const [row] = await fresh.ask('select expires_at from kernel_leases where name is not null');
  t.true(Number(row?.expires_at) <= (Date.now() + 60_000) * 1_000);
  await fresh.ask('update kernel_leases set expires_at = 1');
  granted(await leases.tryAcquire('k'));
});

for (const family of ['postgres', 'mysql'] as const) {
  const port = family === 'postgres' ? 5432 : 3306;
  for (const away of ['cut', 'silence'] as const) {
    test(`${family}: with the database away (${away}) leases are refused in time, and come back with it`, async (t) => {
      const fresh = await freshDatabase(t, family);
      if (fresh === undefined) return;
      const proxy = await startTcpProxy(t, port);
      const url = new URL(fresh.options.url!);
      url.port = String(proxy.port);
      const { leases } = await open(t, fresh, url.href);
      const held = await leases.acquire('held', { ttl: 2_000 });
      await proxy[away]();
      const started = performance.now();
      const refused = t.throwsAsync(leases.acquire('k'), { code: 'lock.unavailable' });
      await until(() => held.signal.aborted, 20_000);
      await refused;
      const waited = performance.now() - started;
      t.true(waited > 3_000 && waited < 20_000, `${waited} ms`);
      await held.release();
      await proxy.restore();
      await until(async () => {
        const lease = await leases.tryAcquire('k').catch(() => 'held' as const);
        if (typeof lease === 'string') return false;
        await lease.release();
        return true;
      }, 20_000);
    });
  }
}
