import test from 'ava';
import { CompiledQuery, type DatabaseConnection, type Driver, SqliteDialect } from 'kysely';
import { createTurn } from '../../../foundation/data/drivers/sqlite-waiting.ts';
import { type Supervision, supervise } from '../../../foundation/data/drivers/supervised-driver.ts';
import { asUnavailable } from '../../../foundation/data/drivers/unavailable.ts';
import { TransactionGuard } from '../../../foundation/data/transaction-guard.ts';

/** A driver that does what a test says. */
function supervised(driver: Partial<Driver>, supervision: Partial<Supervision>): Driver {
  const dialect = new SqliteDialect({ database: {} as never });
  dialect.createDriver = () =>
    ({ init: async () => {}, releaseConnection: async () => {}, ...driver }) as Driver;
  return supervise(dialect, { guard: new TransactionGuard(false), ...supervision }).createDriver();
}

const connection = (executeQuery: DatabaseConnection['executeQuery']) =>
  ({ executeQuery }) as DatabaseConnection;
const query = CompiledQuery.raw('select 1');
const never = () => new Promise<never>(() => {});

test('waiting for a connection of the pool ends, and one that comes too late goes back', async (t) => {
  let arrive: (late: DatabaseConnection) => void = () => {};
  const late = connection(never);
  const returned = new Promise((resolve) => {
    const driver = supervised(
      {
        acquireConnection: () =>
          new Promise((done) => {
            arrive = done;
          }),
        releaseConnection: async (given) => resolve(given),
      },
      { poolTimeoutMs: 5 },
    );
    t.throwsAsync(driver.acquireConnection(), { code: 'database.unavailable' }).then(() => arrive(late));
  });
  t.is(await returned, late);
});

test('one user of the connection at a time, in order, and nobody waits for ever', async (t) => {
  const driver = supervised({ acquireConnection: async () => connection(never) }, { turn: createTurn(20) });
  const first = await driver.acquireConnection();
  const order: string[] = [];
  const second = driver.acquireConnection().then((given) => {
    order.push('second');
    return given;
  });
  const third = driver.acquireConnection().then((given) => {
    order.push('third');
    return given;
  });
  await driver.releaseConnection(first);
  await driver.releaseConnection(await second);
  const held = await third;
  t.deepEqual(order, ['second', 'third']);
  await t.throwsAsync(driver.acquireConnection(), { code: 'database.unavailable' });
  await driver.releaseConnection(held);
  await t.notThrowsAsync(driver.acquireConnection());
});

test('a connection that cannot be had leaves the way free for the next', async (t) => {
  let fails = true;
  const acquireConnection = async () => {
    if (!fails) return connection(never);
    throw new Error('no');
  };
  const driver = supervised({ acquireConnection }, { turn: createTurn(20) });
  await t.throwsAsync(driver.acquireConnection(), { message: 'no' });
  fails = false;
  await t.notThrowsAsync(driver.acquireConnection());
});

test('a statement without an answer loses its connection', async (t) => {
  let killed = false;
  const silent = {
    ...connection(never),
    killSession: async () => {
      killed = true;
    },
  };
  const driver = supervised({ acquireConnection: async () => silent }, { answerTimeoutMs: 5 });
  const given = await driver.acquireConnection();
  await t.throwsAsync(given.executeQuery(query), { code: 'database.unavailable' });
  t.true(killed);
});

const busy = () => Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });

test('a statement that finds the file locked is tried again until its time is over', async (t) => {
  let attempts = 0;
  const sometimes = connection(async () => {
    attempts += 1;
    if (attempts < 4) throw busy();
    return { rows: [] };
  });
  const driver = supervised({ acquireConnection: async () => sometimes }, { busyTimeoutMs: 1000 });
  await (await driver.acquireConnection()).executeQuery(query);
  t.is(attempts, 4);

  const always = connection(async () => {
    throw busy();
  });
  const other = supervised({ acquireConnection: async () => always }, { busyTimeoutMs: 5 });
  await t.throwsAsync((await other.acquireConnection()).executeQuery(query), {
    code: 'database.unavailable',
  });
});

test('a lost connection, a failing disk and an answer that does not come in time are unavailable, every other error stays what it is', (t) => {
  const lost = [
    { code: 'ECONNREFUSED' },
    { code: '57P01' },
    { code: '08006' },
    { code: 'PROTOCOL_CONNECTION_LOST' },
    { code: '28P01' },
    { code: 'ER_ACCESS_DENIED_ERROR' },
    { code: 'ER_USER_LIMIT_REACHED' },
    { code: 'ER_TOO_MANY_USER_CONNECTIONS' },
    { code: '57014' },
    { code: 'ER_QUERY_TIMEOUT' },
    { code: 'ER_LOCK_WAIT_TIMEOUT' },
    { errno: 1969 },
    { code: 'SQLITE_BUSY' },
    { code: 'SQLITE_FULL' },
    { code: 'SQLITE_IOERR_WRITE' },
    { code: 'SQLITE_CANTOPEN' },
    { code: '53100' },
    { code: 'ER_RECORD_FILE_FULL' },
    { message: 'Connection terminated unexpectedly' },
    { message: "Can't add new command when connection is in closed state" },
  ];
  for (const properties of lost) {
    const error = Object.assign(new Error(), properties);
    t.is(t.throws(() => asUnavailable(error), { code: 'database.unavailable' })?.cause, error);
  }
  const other = Object.assign(new Error('syntax'), { code: '42601' });
  t.is(
    t.throws(() => asUnavailable(other)),
    other,
  );
});
