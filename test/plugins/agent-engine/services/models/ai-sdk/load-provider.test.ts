import test from 'ava';
import {
  findFactory,
  loadProvider,
} from '../../../../../../plugins/agent-engine/services/models/ai-sdk/load-provider.ts';

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
