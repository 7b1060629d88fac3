import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type DatabaseOptions, openDatabase } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { Tenant } from '../../../foundation/tables/tenant.ts';
import { eachDatabase, freshDatabase } from '../../support/databases.ts';
import { freePort } from '../../support/free-port.ts';
import { Note, notes, seed, TENANT_A } from './fixtures/notes.ts';

eachDatabase(test, 'the database answers a ping and tells its time', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await t.notThrowsAsync(database.ping(2000));
  t.true(Math.abs((await database.now()) - Date.now()) < 60_000);
  await database.transaction(async (em) => t.true(Math.abs((await database.now(em)) - Date.now()) < 60_000));
  await database
    .forTenant(TENANT_A)
    .transaction(async (tx) => t.true(Number.isInteger(await database.now(tx))));
});

eachDatabase(test, 'after closing nothing answers any more', async (t, fresh) => {
  const database = await openDatabase(fresh.options);
  await database.close();
  await database.close();
  await t.throwsAsync(database.ping(1000), { code: 'database.unavailable' });
});

test('on SQLite the time is that of the clock it was given', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const database = await openDatabase({ ...fresh.options, clock: { now: () => 42, monotonic: () => 0 } });
  t.teardown(() => database.close());
  t.is(await database.now(), 42);
});

test('SQLite runs with write-ahead log and foreign keys, in a folder that it makes', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const file = join(fresh.options.file ?? '', '..', 'a', 'b', 'gateway.db');
  const database = await openDatabase({ ...fresh.options, file });
  t.teardown(() => database.close());
  const pragma = (name: string) => database.system().execute(`pragma ${name}`);
  t.deepEqual(await pragma('journal_mode'), [{ journal_mode: 'wal' }]);
  t.deepEqual(await pragma('synchronous'), [{ synchronous: 1 }]);
  t.deepEqual(await pragma('foreign_keys'), [{ foreign_keys: 1 }]);
});

test('a SQLite database in memory holds 1 GiB at most', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const database = await openDatabase({ ...fresh.options, file: ':memory:' });
  t.teardown(() => database.close());
  const pragma = async (name: string) => (await database.system().execute(`pragma ${name}`))[0]![name];
  t.is((await pragma('max_page_count')) * (await pragma('page_size')), 1024 ** 3);
});

test('the files of a SQLite database are for their owner alone; those that are there keep their modes', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const made = join(fresh.options.file ?? '', '..', 'new', 'gateway.db');
  const kept = join(fresh.options.file ?? '', '..', 'kept', 'gateway.db');
  await mkdir(dirname(kept));
  await chmod(dirname(kept), 0o755);
  await writeFile(kept, '');
  await chmod(kept, 0o644);
  const modesOf = async (file: string) => {
    // Two processes, as it were, at one time.
    const both = await Promise.all([1, 2].map(() => openDatabase({ ...fresh.options, file })));
    t.teardown(() => Promise.all(both.map((database) => database.close())));
    for (const database of both) await database.register(notes);
    await seed(both[1]!);
    const paths = [dirname(file), file, `${file}-wal`, `${file}-shm`];
    return Promise.all(paths.map(async (one) => ((await stat(one)).mode & 0o777).toString(8)));
  };
  t.deepEqual(await modesOf(made), ['700', '600', '600', '600']);
  t.deepEqual(await modesOf(kept), ['755', '644', '644', '644']);
});

test('a SQLite file that was deleted is reported by ping', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await rm(fresh.options.file ?? '');
  const error = await t.throwsAsync(database.ping(1000), { code: 'database.unavailable' });
  t.regex(String(error?.cause), /file is gone/);
});

test('SQLite in memory works and is empty every time', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  for (let round = 0; round < 2; round += 1) {
    const database = await openDatabase({ ...fresh.options, file: undefined });
    await database.register(kernelRegistration);
    t.is(await database.system().count(Tenant), 1);
    await database.ping(1000);
    await database.close();
  }
});

test('a path that cannot be a SQLite file is named', async (t) => {
  const fresh = await freshDatabase(t, 'sqlite');
  if (fresh === undefined) return;
  const error = await t.throwsAsync(openDatabase({ ...fresh.options, file: '/dev/null/gateway.db' }));
  t.is(error?.name, 'DatabaseStartError');
  t.regex(error?.message ?? '', /\/dev\/null\/gateway\.db cannot be opened/);
});

test('MySQL sessions are strict and in UTC', async (t) => {
  const fresh = await freshDatabase(t, 'mysql');
  if (fresh === undefined) return;
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  const [session] = await database
    .system()
    .execute<Record<string, string>[]>(
      'select @@session.time_zone as zone, @@session.sql_mode as mode, @@session.tx_isolation as isolation, @@session.character_set_connection as charset',
    );
  t.like(session, { zone: '+00:00', isolation: 'READ-COMMITTED', charset: 'utf8mb4' });
  t.regex(session?.mode ?? '', /STRICT_TRANS_TABLES/);
});

for (const driver of ['postgres', 'mysql'] as const) {
  test(`${driver}: an address that leads nowhere is shown without its password`, async (t) => {
    const fresh = await freshDatabase(t, 'sqlite');
    if (fresh === undefined) return;
    const port = await freePort();
    const url = `${driver}://someone:hunter2@127.0.0.1:${port}/nothing?token=hunter2`;
    const error = await t.throwsAsync(openDatabase({ ...fresh.options, driver, url }), {
      name: 'DatabaseStartError',
    });
    t.regex(
      error?.message ?? '',
      new RegExp(`DATABASE_URL=${driver}://someone:\\*\\*\\*@127\\.0\\.0\\.1:${port}/nothing`),
    );
    t.notRegex(error?.message ?? '', /hunter2/);
    await t.throwsAsync(openDatabase({ ...fresh.options, driver, url: 'hunter2' }), { message: /not a URL/ });
  });

  test(`${driver}: a server that stops is unavailable, and the gateway recovers when it is back`, async (t) => {
    const fresh = await freshDatabase(t, driver);
    if (fresh === undefined) return;
    const proxy = await startProxy(t, fresh.options);
    const database = await openDatabase({ ...fresh.options, url: proxy.url });
    t.teardown(() => database.close());
    await database.register(notes);
    await seed(database);
    proxy.cut();
    await t.throwsAsync(database.ping(3000), { code: 'database.unavailable' });
    await t.throwsAsync(database.forTenant(TENANT_A).count(Note), { code: 'database.unavailable' });
    await t.throwsAsync(
      database.transaction((em) => em.count(Note)),
      { code: 'database.unavailable' },
    );
    proxy.mend();
    await database.ping(3000);
    t.is(await database.forTenant(TENANT_A).count(Note), 1);
  });

  test(`${driver}: a server that goes silent cannot hold a ping`, async (t) => {
    const fresh = await freshDatabase(t, driver);
    if (fresh === undefined) return;
    const proxy = await startProxy(t, fresh.options);
    const database = await openDatabase({ ...fresh.options, url: proxy.url });
    t.teardown(() => database.close());
    proxy.freeze();
    await t.throwsAsync(database.ping(200), { code: 'database.unavailable' });
    proxy.cut();
  });
}

/** A way to the server that can be cut, frozen and mended. */
async function startProxy(t: ExecutionContext, { url = '' }: DatabaseOptions) {
  const target = new URL(url);
  const { hostname, port } = target;
  let cut = false;
  let frozen = false;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    if (cut) return client.destroy();
    const upstream = net.connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!frozen) to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  t.teardown(() => {
    stop();
    server.close();
  });
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    cut: () => {
      cut = true;
      stop();
    },
    freeze: () => {
      frozen = true;
    },
    mend: () => {
      cut = false;
    },
  };
}
