import test from 'ava';
import { systemClock } from '../../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../../foundation/base/ids.ts';
import {
  findFactory,
  loadProvider,
} from '../../../../../../plugins/agent-engine/services/models/ai-sdk/load-provider.ts';
import { createProviderFetch } from '../../../../../../plugins/agent-engine/services/models/ai-sdk/provider-fetch.ts';
import { connectionRules } from '../../../../../../plugins/agent-engine/services/models/provider-connection.ts';
import { json, silence, startFakeProvider } from '../../../../../support/fake-provider.ts';
import { until } from '../../../../../support/until.ts';
import { failureOf } from '../calls.ts';

function connections() {
  const options = { clock: systemClock, ids: createIds(systemClock), retry: { baseMs: 1 } };
  return createProviderFetch(connectionRules({ ...options, answerBytes: 1000 }));
}

test('a request beside the calls, such as one for a token, is answered too', async (t) => {
  await using provider = await startFakeProvider(json(200, { token: 'x' }, { 'x-answer': 'yes' }));
  await using connected = connections();
  const response = await connected.fetch(new URL(`${provider.url}/token?a=1`), {
    headers: [['X-Ask', 'me']],
  });
  t.is(response.headers.get('x-answer'), 'yes');
  t.deepEqual(await response.json(), { token: 'x' });
  await connected.fetch(`${provider.url}/token`, { method: 'GET', body: null });
  t.like(provider.requests[0], { method: 'POST', path: '/v1/token?a=1' });
  t.like(provider.requests[0]?.headers, { 'x-ask': 'me', 'accept-encoding': 'identity' });
  t.is(provider.requests[1]?.method, 'GET');
});

test('a request with a signal of its own ends with it', async (t) => {
  await using provider = await startFakeProvider(silence());
  await using connected = connections();
  const own = new AbortController();
  const failed = t.throwsAsync(connected.fetch(`${provider.url}/x`, { body: '{}', signal: own.signal }));
  await until(() => provider.requests.length === 1);
  own.abort(new Error('enough'));
  await failed;
  await until(() => provider.requests[0]!.isAborted);
});

test('a body that cannot be sent again, and more servers than a provider needs, are refused', async (t) => {
  await using provider = await startFakeProvider(json(200, {}));
  await using connected = connections();
  await t.throwsAsync(connected.fetch(provider.url, { body: new FormData() }), { message: /sent again/ });
  for (const port of [1, 2, 3]) {
    t.is((await failureOf(t, connected.fetch(`http://127.0.0.1:${port}/`))).code, 'model.upstream');
  }
  await t.throwsAsync(connected.fetch('http://127.0.0.1:4/'), { message: /too many servers/ });
});

test('a body that is cancelled is cancelled at the provider', async (t) => {
  await using provider = await startFakeProvider(({ response }) => {
    response.writeHead(200);
    response.write('the beginning');
  });
  await using connected = connections();
  const response = await connected.fetch(provider.url, { body: '{}' });
  await response.body?.cancel();
  await until(() => provider.requests[0]!.isAborted, 5_000);
  t.pass();
});

const fetch = async () => new Response();

test('the providers that come with the gateway make models', async (t) => {
  for (const name of ['@ai-sdk/anthropic', '@ai-sdk/google']) {
    const createModel = await loadProvider(name);
    const model = createModel({ apiKey: 'key', fetch }, 'some-model');
    t.like(model, { specificationVersion: 'v4', modelId: 'some-model' });
  }
});

test('a package that is not installed is told with what to do', async (t) => {
  await t.throwsAsync(loadProvider('@ai-sdk/nobody'), {
    message: 'the package @ai-sdk/nobody is not installed: run npm install @ai-sdk/nobody beside the gateway',
  });
});

for (const name of ['koa', 'undici', '@ai-sdk/provider', '@ai-sdk/provider-utils', 'fs', 'node:fs']) {
  test(`${name} is no provider, and is not loaded as one`, async (t) => {
    await t.throwsAsync(loadProvider(name), {
      message: /is no provider of|is not installed|no one create… function/,
    });
  });
}

test('the function that makes a provider is the only one, or the one named after the package', (t) => {
  const one = () => ({}) as never;
  const two = () => ({}) as never;
  t.is(findFactory('some', { createSome: one, other: two, CREATE: 1 }), one);
  t.is(findFactory('@ai-sdk/google', { createGoogle: one, createGoogleGenerativeAI: one }), one);
  t.is(findFactory('@ai-sdk/amazon-bedrock', { createAmazonBedrock: one, createMantle: two }), one);
  t.throws(() => findFactory('some', { createA: one, createB: two }), {
    message: /it has createA, createB$/,
  });
  t.throws(() => findFactory('some', { createA: 'no function' }), { message: /it has none$/ });
});
