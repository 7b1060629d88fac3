import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { freshDatabase } from '../../../support/databases.ts';
import { available } from '../../../support/services.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { until } from '../../../support/until.ts';
import {
  Counted,
  connected,
  disconnected,
  Noted,
  numbersAt,
  openReplica,
  ownChannel,
  PATIENCE,
  POSTGRES_URL,
} from './events-kit.ts';

/** A connection of the test's own. */
async function stranger(t: ExecutionContext, connectionString = POSTGRES_URL): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

test('events flow again after the server ended the connection, and are told as missed', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const postgresUrl = fresh.options.url!;
  const [one, two] = [openReplica(t, { postgresUrl }), openReplica(t, { postgresUrl })];
  const [here, there] = [numbersAt(one), numbersAt(two)];
  await connected(one, two);
  const missed = [one.missed, two.missed];
  const ended = await fresh.ask(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent-gateway events' and datname = current_database()",
  );
  t.is(ended.length, 2);
  await disconnected(one, two);
  await connected(one, two);
  one.events.emit(Counted, { n: 1 });
  two.events.emit(Counted, { n: 2 });
  await until(() => here.length === 2 && there.length === 2, PATIENCE);
  t.true(one.missed > missed[0]! && two.missed > missed[1]!);
  t.deepEqual(one.logged, [
    'PostgreSQL is away: no events from and to other replicas until it is back',
    'PostgreSQL is back: events reach other replicas again',
  ]);
  await Promise.all([one.events.close(), two.events.close()]);
});

for (const { count, first } of [
  { count: 5, first: 0 },
  { count: 15, first: 5 },
]) {
  test(`of ${count} events that a replica with room for 10 emits while its way is cut those from ${first} on arrive, and a loss is told`, async (t) => {
    if (!(await available(t, 'postgres'))) return;
    const channel = ownChannel();
    const proxy = await startTcpProxy(t, 5432);
    const postgresUrl = `postgres://root@127.0.0.1:${proxy.port}/test`;
    const one = openReplica(t, { postgresUrl, channel, limits: { outgoing: 10 } });
    const two = openReplica(t, { postgresUrl: POSTGRES_URL, channel });
    const there = numbersAt(two);
    await connected(one, two);
    await proxy.cut();
    await disconnected(one);
    for (let n = 0; n < count; n += 1) one.events.emit(Counted, { n });
    await proxy.restore();
    const missed = first === 0 ? 1 : 2;
    await until(() => there.at(-1) === count - 1 && two.missed === missed, PATIENCE);
    t.deepEqual(
      there,
      Array.from({ length: count - first }, (_, n) => n + first),
    );
    t.is(one.dropped.outgoing ?? 0, first);
    t.deepEqual(two.connected, [true]);
  });
}

test('a server that falls silent is given up, and events flow again when it answers', async (t) => {
  if (!(await available(t, 'postgres'))) return;
  const channel = ownChannel();
  const proxy = await startTcpProxy(t, 5432);
  const limits = { answerDeadline: 1_000, pingEvery: 200, openDeadline: 2_000 };
  const one = openReplica(t, {
    postgresUrl: `postgres://root@127.0.0.1:${proxy.port}/test`,
    channel,
    limits,
  });
  const two = openReplica(t, { postgresUrl: POSTGRES_URL, channel });
  const [here, there] = [numbersAt(one), numbersAt(two)];
  await connected(one, two);
  proxy.silence();
  const missed = two.missed;
  one.events.emit(Counted, { n: 0 });
  await disconnected(one);
  await proxy.restore();
  await connected(one);
  // Whether the event under way when the connection died arrived is not known.
  await until(() => two.missed > missed, PATIENCE);
  t.is(one.dropped.outgoing, 1);
  two.events.emit(Counted, { n: 1 });
  one.events.emit(Counted, { n: 2 });
  await until(() => here.includes(1) && there.includes(2), PATIENCE);
  t.deepEqual(
    [here.toSorted(), there],
    [
      [0, 1, 2],
      [1, 2],
    ],
  );
});

test('with the usual bounds a silent server is noticed within 15 seconds', async (t) => {
  if (!(await available(t, 'postgres'))) return;
  const proxy = await startTcpProxy(t, 5432);
  const postgresUrl = `postgres://root@127.0.0.1:${proxy.port}/test`;
  const one = openReplica(t, { postgresUrl, channel: ownChannel() });
  await connected(one);
  proxy.silence();
  const since = performance.now();
  await until(() => one.connected.at(-1) === false, PATIENCE);
  t.true(performance.now() - since < 15_000);
});

test('what others notify on the channel is dropped and logged once', async (t) => {
  if (!(await available(t, 'postgres'))) return;
  const channel = ownChannel();
  const options = { postgresUrl: POSTGRES_URL, channel };
  const [one, two] = [openReplica(t, options), openReplica(t, options)];
  const there = numbersAt(two);
  await connected(one, two);
  const client = await stranger(t);
  for (const text of ['', '{}', '1 a 1 test.counted {"n":', '1 a 1 test.unknown {', 'x'.repeat(7_999)]) {
    await client.query('select pg_notify($1, $2)', [`${channel}:events`, text]);
  }
  one.events.emit(Counted, { n: 1 });
  await until(() => there.length === 1, PATIENCE);
  t.deepEqual(two.dropped, { malformed: 3, unfit: 1 });
  t.is(two.logged.length, 2);
});

test('an event that the database cannot write in its encoding is dropped alone', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const name = `${new URL(fresh.options.url!).pathname.slice(1)}_latin1`;
  await fresh.ask(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  t.teardown(() => fresh.ask(`drop database ${name} with (force)`));
  const postgresUrl = POSTGRES_URL.replace(/test$/, name);
  const [one, two] = [openReplica(t, { postgresUrl }), openReplica(t, { postgresUrl })];
  const texts: string[] = [];
  two.events.on(Noted, ({ text }) => void texts.push(text));
  await connected(one, two);
  const missed = two.missed;
  for (const text of ['über', '日本', 'after']) one.events.emit(Noted, { text });
  await until(() => texts.length === 2 && two.missed > missed, PATIENCE);
  t.deepEqual(texts, ['über', 'after']);
  t.is(one.dropped.outgoing, 1);
  t.deepEqual(one.logged, ['PostgreSQL refuses events']);
  await Promise.all([one.events.close(), two.events.close()]);
});

test('the parameters of the URL mean what they mean for the database', async (t) => {
  if (!(await available(t, 'postgres'))) return;
  const one = openReplica(t, { postgresUrl: `${POSTGRES_URL}?sslmode=verify-full` });
  const two = openReplica(t, { postgresUrl: `${POSTGRES_URL}?sslrootcert=/does/not/exist` });
  const three = openReplica(t, { postgresUrl: 'postgres://root:geheimes-wort@127.0.0.1:1/test' });
  await disconnected(one, two, three);
  for (const { logged } of [one, two, three]) {
    t.deepEqual(logged, ['PostgreSQL is away: no events from and to other replicas until it is back']);
  }
});

test('closing gives the connection back', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const count = async () => {
    const rows = await fresh.ask(
      "select pid from pg_stat_activity where application_name = 'agent-gateway events' and datname = current_database()",
    );
    return rows.length;
  };
  const one = openReplica(t, { postgresUrl: fresh.options.url! });
  await connected(one);
  t.is(await count(), 1);
  await one.events.close();
  await until(async () => (await count()) === 0, PATIENCE);
});

test('closing while a connection is being made to a silent server ends at once', async (t) => {
  if (!(await available(t, 'postgres'))) return;
  const proxy = await startTcpProxy(t, 5432);
  proxy.silence();
  const one = openReplica(t, { postgresUrl: `postgres://root@127.0.0.1:${proxy.port}/test` });
  const since = performance.now();
  await new Promise((resolve) => setImmediate(resolve));
  await one.events.close();
  t.true(performance.now() - since < 4_000);
});
