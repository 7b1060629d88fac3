import test from 'ava';
import { access } from '../../../kernel/api/access.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { startOwnRedis } from '../limits/own-redis.ts';

/** Two routes that count by a header of the caller. */
const acme = () =>
  testPlugin('acme', {
    setup(scope) {
      for (const path of ['/one', '/other'])
        scope.route(
          route({
            method: 'POST',
            path,
            access: access.public(),
            summary: 'A hook',
            rateLimit: { perMinute: 5, by: ({ header }) => header('X-Hook') },
            handle: () => 'served',
          }),
        );
    },
  });

test('two gateways with one Redis count a key of a route together, and each for itself while Redis is away', async (t) => {
  t.timeout(120_000);
  const redis = await startOwnRedis(t);
  if (redis === undefined) return;
  const start = async (deployment = 'shared') => {
    const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, SVC_DEPLOYMENT: deployment };
    const gateway = await startTestGateway({
      plugins: [acme()],
      env: { ...env, SVC_ANON_RATE_LIMIT_RPM: '7' },
    });
    t.teardown(gateway.stop);
    return gateway;
  };
  const [one, two, stranger] = [await start(), await start(), await start('another')];
  const ask = (gateway: TestGateway, hook?: string, path = '/one') =>
    gateway.request(path, {
      method: 'POST',
      token: null,
      ...(hook !== undefined && { headers: { 'x-hook': hook } }),
    });
  const served = async (gateways: readonly TestGateway[], hook?: string, path?: string) => {
    const answers = await Promise.all(gateways.map((gateway) => ask(gateway, hook, path)));
    return answers.filter(({ status }) => status === 200).length;
  };
  const eachTenTimes = (...gateways: readonly TestGateway[]) =>
    gateways.flatMap((one) => Array(10).fill(one));

  // On a busy machine a gateway may be there before its connection to Redis.
  let tries = 0;
  await until(async () => {
    tries += 1;
    const hook = `first-${tries}`;
    return (await served(Array(5).fill(one), hook)) === 5 && (await served([two], hook)) === 0;
  }, 20_000);

  t.is(await served(eachTenTimes(one, two), 'a'), 5, 'together, to the request');
  const refused = await ask(two, 'a');
  t.is(refused.status, 429);
  t.is(refused.headers.get('x-ratelimit-limit'), '5');
  t.is(refused.headers.get('retry-after'), '60');
  t.is(await served(eachTenTimes(one, two), 'b'), 5, 'another key has a window of its own');
  t.is(await served(eachTenTimes(one, two), 'a', '/other'), 5, 'and so has another route');
  t.is(await served([stranger], 'a'), 1, 'and another deployment');
  t.is(await served(eachTenTimes(one, two)), 7, 'without a key the window of the address is shared as well');

  await redis.kill();
  // What each counted itself goes on, so that an outage opens no second window for who used up his own.
  await until(async () => (await served(eachTenTimes(one), 'c')) === 0, 20_000);
  t.is(await served(eachTenTimes(two), 'd'), 5, 'each for itself');
  t.is(await served(eachTenTimes(one), 'd'), 5);
});
