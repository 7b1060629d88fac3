import { type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import test, { type ExecutionContext } from 'ava';
import {
  endlessStream,
  failure,
  type ProviderScript,
  startFakeProvider,
} from '../../../support/fake-provider.ts';
import { until } from '../../../support/until.ts';
import { startPlatform } from '../platform-gateway.ts';

/** LangChain's client in front of a gateway; without scripts of a provider the demo model answers. */
async function startClient(t: ExecutionContext, ...scripts: ProviderScript[]) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const upstream: Record<string, string> =
    scripts.length === 0 ? {} : { LLM_API_URL: provider.url, LLM_MODEL: 'fake-model', LLM_MAX_RETRIES: '0' };
  // Without a preamble: the tenant's SOUL.md comes in the background, and the tokens of two calls are compared.
  const gateway = await startPlatform(t, { env: { ...upstream, SVC_PREAMBLE_TOKENS: '0' } });
  const { key: apiKey } = await gateway.key();
  const model = new ChatOpenAI({
    model: 'default',
    apiKey,
    maxRetries: 0,
    configuration: { baseURL: `${gateway.url}/v1` },
  });
  return { model, provider, gateway };
}

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;

test('a plain answer', async (t) => {
  const { model } = await startClient(t);
  const answer = await model.invoke('Hi');
  t.true(answer.text.length > 0);
  t.true((answer.usage_metadata?.total_tokens ?? 0) > 0);
  t.is(answer.response_metadata.finish_reason, 'stop');
});

test('a streamed answer says what the plain one says', async (t) => {
  const { model } = await startClient(t);
  const plain = await model.invoke('Hi');
  let gathered: AIMessageChunk | undefined;
  for await (const chunk of await model.stream('Hi')) gathered = gathered?.concat(chunk) ?? chunk;
  t.is(gathered?.text, plain.text);
  t.deepEqual(gathered?.usage_metadata?.total_tokens, plain.usage_metadata?.total_tokens);
});

test('tools of the client are called and answered', async (t) => {
  const { model } = await startClient(t);
  const withTools = model.bindTools([weather]);
  const question = new HumanMessage('Call get_weather for Oslo.');
  const asked = await withTools.invoke([question]);
  t.is(asked.tool_calls?.[0]?.name, 'get_weather');
  const result = new ToolMessage({ content: 'It rains.', tool_call_id: asked.tool_calls![0]!.id! });
  const answer = await withTools.invoke([question, asked, result]);
  t.regex(answer.text, /It rains/);
});

test('a failure is an error with its status', async (t) => {
  const { model } = await startClient(t, failure(429, { 'retry-after': '9' }));
  const error = await t.throwsAsync(model.invoke('Hi'));
  t.like(error, { status: 429 });
});

test('an aborted stream ends the call at the provider', async (t) => {
  const { model, provider } = await startClient(t, endlessStream(100));
  const abort = new AbortController();
  const read = async () => {
    for await (const _ of await model.stream('Hi', { signal: abort.signal })) abort.abort();
  };
  await t.throwsAsync(read());
  await until(() => provider.requests[0]!.isAborted);
});
