import test, { type ExecutionContext } from 'ava';
import type { TestGateway } from '../../testing/index.ts';
import { type OwnRedis, startOwnRedis } from '../kernel/limits/own-redis.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { gatewayDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

interface SetUp {
  readonly redis: OwnRedis;
  readonly gateways: readonly [TestGateway, TestGateway];
  /** A key of a tenant with this limit. */
  key(rpm: number): Promise<string>;
}

/** Two gateways on one database and one Redis of their own. */
async function setUp(t: ExecutionContext): Promise<SetUp | undefined> {
  const redis = await startOwnRedis(t);
  const fresh = redis && (await gatewayDatabase(t, 'postgres'));
  if (fresh === undefined) return undefined;
  const env = { ...fresh.environment, REDIS_URL: `redis://127.0.0.1:${redis!.port}` };
  const start = () => startPlatform(t, { env });
  const gateways = await Promise.all([start(), start()]);
  const { request } = gateways[0];
  return {
    redis: redis!,
    gateways,
    key: async (rpm) => {
      const body = { name: 'Acme', rate_limit_rpm: rpm };
      const { id } = (await request('/v1/tenants', { method: 'POST', body })).body;
      return (await request('/v1/api-keys', { method: 'POST', body: { name: 'k', tenant_id: id } })).body.key;
    },
  };
}

/** Sends `count` requests, in turn to both gateways, and counts the answers by status. */
async function spend(gateways: readonly TestGateway[], token: string, count: number) {
  const tally: Record<number, number> = {};
  for (let sent = 0; sent < count; sent += 1) {
    const { status } = await gateways[sent % gateways.length]!.request('/v1/me', { token });
    tally[status] = (tally[status] ?? 0) + 1;
  }
  return tally;
}

const logged = (gateway: TestGateway, words: string) => gateway.logs().some((line) => line.includes(words));

test('replicas share a tenant’s window through Redis, and each counts alone while it is away', async (t) => {
  const parts = await setUp(t);
  if (parts === undefined) return;
  const { redis, gateways, key } = parts;
  const shared = await key(10);
  t.deepEqual(await spend(gateways, shared, 14), { 200: 10, 429: 4 });
  const spentBefore = await key(4);
  t.deepEqual(await spend(gateways, spentBefore, 4), { 200: 4 });

  await redis.kill();

  await until(() => gateways.every((gateway) => logged(gateway, 'Redis is away: this replica')));
  t.deepEqual(await spend(gateways, await key(5), 16), { 200: 10, 429: 6 }, 'each admits the whole limit');
  t.deepEqual(await spend([gateways[0]], spentBefore, 4), { 200: 2, 429: 2 }, 'the count went on');
  for (const { request } of gateways) {
    t.is(
      (await request('/health/ready', { token: null })).status,
      200,
      'limits are no reason to stop serving',
    );
  }

  await redis.start();

  await until(() => gateways.every((gateway) => logged(gateway, 'Redis is back: this replica')), 10_000);
  t.deepEqual(await spend(gateways, await key(6), 9), { 200: 6, 429: 3 });
});

test('no request fails or waits for long while Redis dies, freezes and comes back under load', async (t) => {
  const parts = await setUp(t);
  if (parts === undefined) return;
  const { redis, gateways, key } = parts;
  const token = await key(1_000_000);
  const tally: Record<number, number> = {};
  let slowest = 0;
  let isOver = false;
  const clients = Array.from({ length: 6 }, async (_, index) => {
    while (!isOver) {
      const began = performance.now();
      const { status } = await gateways[index % 2]!.request('/v1/me', { token });
      slowest = Math.max(slowest, performance.now() - began);
      tally[status] = (tally[status] ?? 0) + 1;
    }
  });
  const some = async (more: number) => {
    const before = tally[200] ?? 0;
    await until(() => (tally[200] ?? 0) >= before + more, 10_000);
  };
  await some(50);
  await redis.kill();
  await some(100);
  await redis.start();
  await some(100);
  redis.freeze();
  await until(() => gateways.every((gateway) => logged(gateway, 'Redis is away: this replica')));
  await some(50);
  redis.thaw();
  await some(50);
  isOver = true;
  await Promise.all(clients);
  t.deepEqual(Object.keys(tally), ['200']);
  // 100 ms for an answer of Redis, and what two busy processors add.
  t.true(slowest < 4000, `${slowest} ms`);
});

test('a gateway starts and serves while Redis is not there', async (t) => {
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  await redis.kill();
  const gateway = await startPlatform(t, { env: { REDIS_URL: `redis://127.0.0.1:${redis.port}` } });
  t.is((await gateway.request('/v1/me')).status, 200);
  await redis.start();
  await until(() => logged(gateway, 'Redis is back: this replica'), 10_000);
  t.is((await gateway.request('/v1/me')).status, 200);
});
