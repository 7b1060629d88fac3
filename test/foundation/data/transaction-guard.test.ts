import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { request } from 'undici';
import {
  assertOutsideTransaction,
  type Database,
  DatabaseDefect,
  openDatabase,
} from '../../../foundation/data/database.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';
import { Note, notes, seed, TENANT_A } from './fixtures/notes.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase): Promise<Database> {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(notes);
  await seed(database);
  return database;
}

async function listen(t: ExecutionContext): Promise<string> {
  const server = createServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const httpGet = (url: string) => new Promise((resolve, reject) => get(url, resolve).on('error', reject));

const FOREIGN: readonly { title: string; named: RegExp; wait(url: string): Promise<unknown> }[] = [
  {
    title: 'fetch',
    named: /GET http:\/\/127\.0\.0\.1:\d+\/path\b/,
    wait: (url) => fetch(`${url}/path?key=secret`),
  },
  {
    title: 'undici on a connection that is open already',
    named: /GET http:\/\/127\.0\.0\.1:\d+\/path\b/,
    wait: (url) => request(`${url}/path?key=secret`).then(({ body }) => body.dump()),
  },
  { title: 'node:http', named: /GET 127\.0\.0\.1\/path\b/, wait: (url) => httpGet(`${url}/path?key=secret`) },
  { title: 'a timer', named: /a timer \(at .*transaction-guard\.test\.ts/, wait: () => sleep(20) },
  {
    title: 'a file',
    named: /the file system \(at .*transaction-guard\.test\.ts/,
    wait: () => readFile(import.meta.filename),
  },
  {
    title: 'a child process',
    named: /a child process/,
    wait: () => promisify(execFile)(process.execPath, ['--version']),
  },
];

eachDatabase(
  test,
  'waiting for foreign work rejects the transaction and names the work',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const url = await listen(t);
    await request(url).then(({ body }) => body.dump());
    for (const { title, named, wait } of FOREIGN) {
      const attempt = database.forTenant(TENANT_A).transaction(async (tx) => {
        await tx.update(Note, { id: 'a1' }, { text: title });
        await wait(url);
      });
      const error = await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: named }, title);
      t.is(error?.rule, 'foreign-work', title);
      t.notRegex(error?.message ?? '', /secret/, title);
    }
    t.is((await database.forTenant(TENANT_A).findOneOrFail(Note, { id: 'a1' })).text, 'of a');
  },
);

eachDatabase(
  test,
  'waiting for something that began before the transaction rejects it as well',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const before = sleep(1_000);
    const attempt = database.transaction(async (em) => {
      await em.count(Note);
      await before;
    });
    await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: /started before it/ });
  },
);

eachDatabase(
  test,
  'foreign work beside database work is seen as soon as the database work is done',
  async (t, fresh) => {
    const database = await open(t, fresh);
    const attempt = database.transaction((em) => Promise.all([em.count(Note), sleep(200)]));
    await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: /a timer/ });
  },
);

eachDatabase(test, 'a transaction that forgets itself does not hold the database', async (t, fresh) => {
  const database = await open(t, fresh);
  await t.throwsAsync(
    database.transaction(() => new Promise<never>(() => {})),
    { instanceOf: DatabaseDefect },
  );
  t.is(await database.system().count(Note), 2);
});

eachDatabase(test, 'database work, computing and logging do not count as foreign', async (t, fresh) => {
  const database = await open(t, fresh);
  const log = pino({ level: 'info' }, pino.destination({ dest: '/dev/null', sync: false }));
  const total = await database.forTenant(TENANT_A).transaction(async (tx) => {
    let sum = 0;
    for (let n = 0; n < 20; n += 1) {
      sum += await tx.count(Note);
      await Promise.all([tx.find(Note, {}), tx.findAndCount(Note, {})]);
      await null;
      await new Promise<void>((resolve) => process.nextTick(resolve));
      await tx.transaction((nested) => nested.increment(Note, { id: 'a1' }, { views: 1 }));
      await tx.insert(Note, { id: `n${n}`, slug: `n${n}`, text: 'x'.repeat(100_000), views: 0 });
      const until = performance.now() + 2;
      while (performance.now() < until);
      log.info('inside');
      const unimportant = setTimeout(() => {}, 1);
      unimportant.unref();
    }
    return sum;
  });
  t.is(total, 210);
});

eachDatabase(test, 'many transactions at once do not disturb each other', async (t, fresh) => {
  const database = await open(t, fresh);
  const add = () =>
    database.forTenant(TENANT_A).transaction(
      async (tx) => {
        await tx.increment(Note, { id: 'a1' }, { views: 1 });
        await tx.count(Note);
      },
      { retries: 5 },
    );
  await Promise.all(Array.from({ length: 30 }, add));
  t.is((await database.forTenant(TENANT_A).findOneOrFail(Note, { id: 'a1' })).views, 31);
});

eachDatabase(
  test,
  'outbound clients can refuse to work inside a transaction, guard or no guard',
  async (t, fresh) => {
    const database = await openDatabase({ ...fresh.options, guardTransactions: false });
    t.teardown(() => database.close());
    t.notThrows(() => assertOutsideTransaction('the model call'));
    const attempt = database.transaction(async () => assertOutsideTransaction('the model call'));
    await t.throwsAsync(attempt, { instanceOf: DatabaseDefect, message: /waited for the model call\./ });
    t.notThrows(() => assertOutsideTransaction('the model call'));
  },
);

eachDatabase(test, 'without the guard a transaction may wait', async (t, fresh) => {
  const database = await openDatabase({ ...fresh.options, guardTransactions: false });
  t.teardown(() => database.close());
  await database.register(notes);
  t.is(
    await database.transaction((em) => Promise.all([em.count(Note), sleep(5)]).then(([count]) => count)),
    0,
  );
});
