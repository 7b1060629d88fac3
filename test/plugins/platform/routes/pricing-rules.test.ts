import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { startEngineGateway } from './engine-gateway.ts';

const PATH = '/admin/v1/pricing-rules';
const BODY = { input_per_1k: 0.0025, output_per_1k: 0.01, cache_read_per_1k: 1e-7, cache_write_per_1k: null };

eachGatewayDatabase(
  test,
  'the prices of a model are set, listed, used, and removed',
  async (t, { environment }) => {
    const gateway = await startEngineGateway(t, { env: environment });
    const path = `${PATH}/openai%2Fgpt-4o`;
    const put = await gateway.request(path, { method: 'PUT', body: { ...BODY, currency: 'USD' } });
    t.is(put.status, 200);
    const { updated_at, ...rule } = put.body;
    t.deepEqual(rule, { model: 'openai/gpt-4o', ...BODY, currency: 'USD' });
    t.regex(updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.deepEqual((await gateway.request(PATH)).body, {
      pricing_rules: [put.body],
      total: 1,
      limit: 500,
      offset: 0,
    });
    const use = {
      model: 'default',
      provider: 'openai',
      providerModel: 'openai/gpt-4o',
      isEstimated: false,
      inputTokens: 1000,
      outputTokens: 0,
      cacheReadTokens: 1000,
      cacheWriteTokens: 0,
    };
    t.is((await gateway.metering.price([use]))[0]?.costUsd, '0.0000001');

    const back = await gateway.request(path, { method: 'PUT', body: { ...put.body, input_per_1k: 5 } });
    t.is(back.status, 200, 'a rule that was read is sent back');
    const bare = await gateway.request(path, { method: 'PUT', body: { input_per_1k: 0, output_per_1k: 0 } });
    t.like(bare.body, { input_per_1k: 0, cache_read_per_1k: null, cache_write_per_1k: null });
    t.is((await gateway.request(PATH)).body.total, 1);

    t.is((await gateway.request(path, { method: 'DELETE' })).status, 204);
    const again = await gateway.request(path, { method: 'DELETE' });
    t.deepEqual([again.status, again.body.code], [404, 'pricing.not-found']);
    t.is((await gateway.request(`${PATH}?limit=9999`)).body.limit, 500);
  },
);

test('names of models may hold anything that can be read', async (t) => {
  const gateway = await startEngineGateway(t);
  for (const model of ['a/b/c', 'meta-llama/Llama-3.1-8B:free', 'ft:gpt-4o::x y', '模型 100%', 'a.b', 'A']) {
    const path = `${PATH}/${encodeURIComponent(model)}`;
    const { status, body } = await gateway.request(path, { method: 'PUT', body: BODY });
    t.deepEqual([status, body.model], [200, model]);
  }
  t.is((await gateway.request(PATH)).body.total, 6);
  for (const model of ['%00', '%0A', 'x'.repeat(201)]) {
    const { status, body } = await gateway.request(`${PATH}/${model}`, { method: 'PUT', body: BODY });
    t.is(status, 400, model);
    t.is(body.errors[0].pointer, '/params/model');
  }
});

test('a price is a number from 0 to 1,000,000', async (t) => {
  const gateway = await startEngineGateway(t);
  const pointers = async (body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const response = await gateway.request(`${PATH}/m`, { method: 'PUT', body, headers });
    t.is(response.status, 400, JSON.stringify(body));
    return response.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  };
  t.deepEqual(await pointers({}), ['/body/input_per_1k', '/body/output_per_1k']);
  t.deepEqual(
    await pointers({
      input_per_1k: -1,
      output_per_1k: '1',
      cache_read_per_1k: 1_000_001,
      cache_write_per_1k: true,
      currency: 'EUR',
    }),
    [
      '/body/cache_read_per_1k',
      '/body/cache_write_per_1k',
      '/body/currency',
      '/body/input_per_1k',
      '/body/output_per_1k',
    ],
  );
  const small = { input_per_1k: 1e-10, cache_read_per_1k: 1e-12, cache_write_per_1k: -1 };
  t.deepEqual(await pointers(small), [
    '/body/cache_read_per_1k',
    '/body/cache_write_per_1k',
    '/body/input_per_1k',
    '/body/output_per_1k',
  ]);
  t.deepEqual(await pointers('{"input_per_1k": 1e999, "output_per_1k": -1e999}'), [
    '/body/input_per_1k',
    '/body/output_per_1k',
  ]);
  t.deepEqual(await pointers({ input_per_1k: null, output_per_1k: 'NaN' }), [
    '/body/input_per_1k',
    '/body/output_per_1k',
  ]);
  t.deepEqual(await pointers({ input_per_1k: 1e-10, output_per_1k: 1e-9 }), ['/body/input_per_1k']);
  t.is((await gateway.request(PATH)).body.total, 0);
});

test('everybody with a billing scope reads the prices, operators write them', async (t) => {
  const gateway = await startEngineGateway(t);
  const tenant_id = await gateway.tenant();
  const write = async (token: string) => {
    const put = await gateway.request(`${PATH}/m`, { method: 'PUT', body: BODY, token });
    const removed = await gateway.request(`${PATH}/m`, { method: 'DELETE', token });
    return [put.status, removed.status];
  };
  const cases: readonly (readonly [object, number, readonly number[]])[] = [
    [{ roles: ['billing'] }, 200, [200, 204]],
    [{ roles: ['admin'], scopes: ['admin'] }, 200, [200, 204]],
    [{ roles: ['billing'], scopes: ['billing:read'], tenant_id }, 200, [403, 403]],
    [{ roles: ['billing'], tenant_id }, 200, [403, 403]],
    [{ roles: ['owner'], tenant_id }, 200, [403, 403]],
    [{ roles: ['user'], scopes: ['billing:read'] }, 200, [403, 403]],
    [{ roles: ['user'], scopes: ['billing:write'] }, 403, [403, 403]],
    [{ roles: ['admin'] }, 403, [403, 403]],
    [{ roles: ['ops', 'security', 'auditor'] }, 403, [403, 403]],
  ];
  for (const [settings, read, writes] of cases) {
    const { token } = await gateway.key(settings);
    const label = JSON.stringify(settings);
    t.is((await gateway.request(PATH, { token })).status, read, label);
    t.deepEqual(await write(token), writes, label);
  }
  const { token } = await gateway.key({ roles: ['billing'], tenant_id });
  const refused = await gateway.request(`${PATH}/m`, { method: 'PUT', body: BODY, token });
  t.is(refused.body.code, 'pricing.operator-only');
  t.is((await gateway.request(PATH, { token: null })).status, 401);
});
