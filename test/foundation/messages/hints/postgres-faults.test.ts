import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { FreshDatabase } from '../../../support/databases.ts';
import { freshDatabase } from '../../../support/databases.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { settled, until } from '../../../support/until.ts';
import { openTold, PATIENCE_MS, Steps, send, WITHOUT_WAITING_MS } from './hint-forms.ts';

const eventually = (condition: () => boolean | Promise<boolean>) => until(condition, PATIENCE_MS);
const warnings = (lines: { level: number; msg: string }[]) => lines.filter(({ level }) => level >= 40);
const urlOf = (fresh: FreshDatabase) => fresh.environment.DATABASE_URL as string;

/** A queue behind a proxy, with a consumer. */
async function proxied(t: ExecutionContext) {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return undefined;
  const proxy = await startTcpProxy(t, 5432);
  const postgresUrl = urlOf(fresh).replace(':5432', `:${proxy.port}`);
  const told = await openTold(t, { postgresUrl, family: 'postgres' });
  const got: number[] = [];
  const consumer = told.queue.listen(Steps, async ({ n }) => void got.push(n));
  await send(told.queue, { n: 0 });
  await eventually(() => got.includes(0));
  return { fresh, proxy, got, consumer, postgresUrl, ...told };
}

test('a queue whose sessions the server ends makes new ones', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const { queue, lines } = await openTold(t, { postgresUrl: urlOf(fresh), family: 'postgres' });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  for (let round = 1; round <= 3; round += 1) {
    await send(queue, { n: round });
    await eventually(() => got.includes(round));
    await fresh.ask(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent-gateway events' and datname = current_database()",
    );
    await eventually(() => lines.filter(({ msg }) => msg.includes('is back:')).length === round);
  }
  await send(queue, { n: 10 });
  const began = performance.now();
  await eventually(() => got.includes(10));
  t.true(performance.now() - began < 4_500, 'told, not polled');
});

test('while PostgreSQL is away publish answers false, and everything goes on when it is back', async (t) => {
  const place = await proxied(t);
  if (place === undefined) return;
  const { queue, proxy, got, lines, counts } = place;
  await proxy.cut();
  await eventually(async () => !(await queue.send(Steps, { n: 1 })));
  const late: number[] = [];
  queue.listen(Steps, async ({ n }) => void late.push(n));
  for (let n = 0; n < 50; n += 1) {
    const began = performance.now();
    t.false(await queue.send(Steps, { n: 1 }));
    t.true(performance.now() - began < WITHOUT_WAITING_MS);
  }
  t.true(counts.includes('published workflow.steps away'));
  await pause(1_500);
  t.true(warnings(lines).length <= 2, JSON.stringify(warnings(lines)));
  t.is(lines.filter(({ msg }) => msg.includes('is away')).length, 1);
  await proxy.restore();
  for (let n = 2; n < 40; n += 1) await send(queue, { n });
  await eventually(() => got.includes(39) || late.includes(39));
  // Who is quick may have had all of those.
  let next = 40;
  await eventually(async () => {
    await send(queue, { n: next });
    next += 1;
    return late.length > 0 && got.length > 1;
  });
  t.is(lines.filter(({ msg }) => msg.includes('is back:')).length, 1);
});

test('a server that says nothing more makes publish answer false within a second', async (t) => {
  const place = await proxied(t);
  if (place === undefined) return;
  const { queue, proxy, got } = place;
  proxy.silence();
  for (let n = 0; n < 5; n += 1) {
    const began = performance.now();
    t.false(await queue.send(Steps, { n: 1 }));
    t.true(performance.now() - began < WITHOUT_WAITING_MS, `${performance.now() - began} ms`);
  }
  await proxy.restore();
  await send(queue, { n: 2 });
  await eventually(() => got.includes(2));
});

test('stopping and closing end in time while PostgreSQL is away or silent', async (t) => {
  for (const fault of ['cut', 'silence'] as const) {
    const place = await proxied(t);
    if (place === undefined) return;
    const { queue, proxy, consumer } = place;
    await proxy[fault]();
    const began = performance.now();
    await consumer.stop(1_000);
    t.true(performance.now() - began < 5_000, `${fault}: ${performance.now() - began} ms`);
    await queue.close();
    t.true(performance.now() - began < 10_000, `${fault}: ${performance.now() - began} ms`);
  }
});

test('a queue that opens while nothing can be notified works when it can', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const proxy = await startTcpProxy(t, 5432);
  await proxy.cut();
  const { queue } = await openTold(t, {
    postgresUrl: urlOf(fresh),
    eventsUrl: urlOf(fresh).replace(':5432', `:${proxy.port}`),
    family: 'postgres',
  });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  t.false(await queue.send(Steps, { n: 1 }));
  await proxy.restore();
  await send(queue, { n: 2 });
  await eventually(() => got.includes(2));
});

test('replicas that start together make one table, and only once', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const replicas = await Promise.all(
    Array.from({ length: 6 }, () => openTold(t, { postgresUrl: urlOf(fresh), family: 'postgres' })),
  );
  for (const { queue, lines } of replicas) {
    await send(queue, { n: 1 });
    t.deepEqual(warnings(lines), []);
  }
  const tables = await fresh.ask(
    "select relname, relpersistence from pg_class where relname like 'agent_gateway_queue%' and relkind = 'r'",
  );
  t.deepEqual(tables, [{ relname: 'agent_gateway_queue_1', relpersistence: 'u' }]);
  const grants = await fresh.ask(
    "select grantee from information_schema.role_table_grants where table_name = 'agent_gateway_queue_1' and grantee <> current_user",
  );
  t.deepEqual(grants, [], 'nobody but the owner may read it');
});

test('deployments of different prefixes do not see each other', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const open = (prefix: string) => openTold(t, { postgresUrl: urlOf(fresh), family: 'postgres', prefix });
  const [one, two] = [await open('gateway-one'), await open('gateway-two')];
  const got: string[] = [];
  one.queue.listen(Steps, async ({ n }) => void got.push(`one ${n}`));
  two.queue.listen(Steps, async ({ n }) => void got.push(`two ${n}`));
  await send(one.queue, { n: 1 });
  await send(two.queue, { n: 2 });
  await eventually(() => got.length === 2);
  await settled(() => got.length);
  t.deepEqual(got.sort(), ['one 1', 'two 2']);
});

test('a message that nobody was told of is found', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const { queue } = await openTold(t, { postgresUrl: urlOf(fresh), family: 'postgres' });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  await send(queue, { n: 1 });
  await eventually(() => got.includes(1));
  await fresh.ask(
    `insert into agent_gateway_queue_1 (queue, id, due_at, payload) values ('workflow.steps', 'quiet', now(), '{"n":2}')`,
  );
  await eventually(() => got.includes(2));
  t.deepEqual(await fresh.ask('select count(*)::int as left from agent_gateway_queue_1'), [{ left: 0 }]);
});
