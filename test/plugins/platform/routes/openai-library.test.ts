import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import OpenAI6 from 'openai-v6';
import {
  endlessStream,
  failure,
  type ProviderScript,
  startFakeProvider,
  stream,
} from '../../../support/fake-provider.ts';
import { shared } from '../../../support/shared.ts';
import { until } from '../../../support/until.ts';
import { startPlatform } from '../platform-gateway.ts';

/** The client of today and the one before: what both have is typed by today's. */
const MAJORS = { 'openai 6': OpenAI6 as unknown as typeof OpenAI, 'openai 7': OpenAI };

const messages = [{ role: 'user' as const, content: 'Hi' }];

const demo = shared((file) => startPlatform(file));

/**
 * OpenAI's own client in front of a gateway whose provider follows the scripts; without any it is the one with the demo
 * model, which the tests share.
 */
async function startClient(t: ExecutionContext, Client: typeof OpenAI, ...scripts: ProviderScript[]) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const env = { LLM_API_URL: provider.url, LLM_MODEL: 'fake-model', LLM_MAX_RETRIES: '0' };
  const gateway = scripts.length === 0 ? await demo() : await startPlatform(t, { env });
  const { key: apiKey } = await gateway.key();
  const connect = (key = apiKey) => new Client({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });
  return { client: connect(), connect, gateway, provider };
}

for (const [name, Client] of Object.entries(MAJORS)) {
  test(`${name}: a plain answer`, async (t) => {
    const { client } = await startClient(t, Client);
    const answer = await client.chat.completions.create({ model: 'default', messages });
    t.regex(answer.id, /^chatcmpl-/);
    t.is(answer.model, 'default');
    t.is(answer.choices[0]?.message.role, 'assistant');
    t.truthy(answer.choices[0]?.message.content);
    t.is(answer.choices[0]?.finish_reason, 'stop');
    t.true(answer.usage!.total_tokens > 0);
  });

  test(`${name}: a streamed answer, chunk by chunk and gathered, says what the plain one says`, async (t) => {
    const { client } = await startClient(t, Client);
    const plain = await client.chat.completions.create({ model: 'default', messages });
    const options = { include_usage: true };
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    const chunks = await client.chat.completions.create({
      model: 'default',
      messages,
      stream: true,
      stream_options: options,
    });
    for await (const chunk of chunks) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    t.is(text, plain.choices[0]?.message.content as string);
    // Not of the prompt: a part of the gateway's context that is late is left out.
    t.is(usage?.completion_tokens, plain.usage?.completion_tokens);
    t.is(usage?.total_tokens, usage!.prompt_tokens + usage!.completion_tokens);
    const gathered = await client.chat.completions
      .stream({ model: 'default', messages })
      .finalChatCompletion();
    t.is(gathered.choices[0]?.message.content, text);
  });

  test(`${name}: tools of the client come back as calls, and their results are answered`, async (t) => {
    const { client } = await startClient(t, Client);
    const tools: OpenAI.ChatCompletionTool[] = [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ];
    const question = [{ role: 'user' as const, content: 'Call get_weather for Oslo.' }];
    const asked = await client.chat.completions.create({
      model: 'default',
      messages: question,
      tools,
      tool_choice: 'required',
    });
    t.is(asked.choices[0]?.finish_reason, 'tool_calls');
    const message = asked.choices[0]!.message;
    const call = message.tool_calls![0]!;
    t.is(call.type === 'function' && call.function.name, 'get_weather');
    const results = [{ role: 'tool' as const, tool_call_id: call.id, content: 'It rains.' }];
    const answer = await client.chat.completions.create({
      model: 'default',
      messages: [...question, message, ...results],
      tools,
    });
    t.true(answer.choices[0]?.message.content?.includes('It rains.'));
    const streamed = await client.chat.completions
      .stream({ model: 'default', messages: question, tools, tool_choice: 'required' })
      .finalChatCompletion();
    t.deepEqual(
      streamed.choices[0]?.message.tool_calls?.map(
        (made) => made.type === 'function' && made.function.arguments,
      ),
      message.tool_calls?.map((made) => made.type === 'function' && made.function.arguments),
    );
  });

  test(`${name}: the models`, async (t) => {
    const { client } = await startClient(t, Client);
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    t.deepEqual(ids, ['default', 'demo']);
    t.is((await client.models.retrieve('demo')).id, 'demo');
    await t.throwsAsync(client.models.retrieve('none'), { instanceOf: Client.NotFoundError });
  });

  test(`${name}: failures are the typed errors of the client, with our codes`, async (t) => {
    const { client, connect, gateway } = await startClient(t, Client);
    const ask = (using: OpenAI, model = 'default', more = {}) =>
      using.chat.completions.create({ model, messages, ...more });
    const unknown = await t.throwsAsync(ask(client, 'none'), { instanceOf: Client.NotFoundError });
    t.is(unknown?.code, 'model_not_found');
    t.is(unknown?.type, 'not_found_error');
    const wrong = await t.throwsAsync(ask(connect('hk_wrong')), { instanceOf: Client.AuthenticationError });
    t.is(wrong?.type, 'authentication_error');
    const bad = await t.throwsAsync(ask(client, 'default', { n: 2 }), { instanceOf: Client.BadRequestError });
    t.is(bad?.param, 'n');
    const { key } = await gateway.key({ roles: ['auditor'] });
    await t.throwsAsync(ask(connect(key)), { instanceOf: Client.PermissionDeniedError });
  });

  test(`${name}: the tenant's rate limit is a RateLimitError`, async (t) => {
    const { connect, gateway } = await startClient(t, Client);
    const body = { name: 'Small', rate_limit_rpm: 1 };
    const tenant = await gateway.request('/v1/tenants', { method: 'POST', body });
    const { key } = await gateway.key({ tenant_id: tenant.body.id });
    const client = connect(key);
    await client.models.list();
    const error = await t.throwsAsync(client.models.list(), { instanceOf: Client.RateLimitError });
    t.is(error?.headers?.get('retry-after'), '60');
  });

  test(`${name}: a provider's rate limit is a RateLimitError, its failure an InternalServerError`, async (t) => {
    const { client } = await startClient(t, Client, failure(429, { 'retry-after': '9' }), failure(500));
    const ask = () => client.chat.completions.create({ model: 'default', messages });
    const limited = await t.throwsAsync(ask(), { instanceOf: Client.RateLimitError });
    t.is(limited?.headers?.get('retry-after'), '9');
    const failed = await t.throwsAsync(ask(), { instanceOf: Client.InternalServerError });
    t.is(failed?.status, 502);
  });

  test(`${name}: a stream that breaks throws in the client and never looks finished`, async (t) => {
    const { client } = await startClient(t, Client, stream(['Hello', ' world'], { cutAfter: 2 }));
    const reasons: unknown[] = [];
    const read = async () => {
      const chunks = await client.chat.completions.create({ model: 'default', messages, stream: true });
      for await (const chunk of chunks) reasons.push(chunk.choices[0]?.finish_reason);
    };
    const error = await t.throwsAsync(read(), { instanceOf: Client.APIError });
    t.is(error?.code, 'model.upstream');
    t.true(reasons.length > 0 && reasons.every((reason) => reason === null));
  });

  test(`${name}: leaving a stream ends the call at the provider`, async (t) => {
    const { client, provider } = await startClient(t, Client, endlessStream(100));
    const chunks = await client.chat.completions.create({ model: 'default', messages, stream: true });
    for await (const _ of chunks) break;
    await until(() => provider.requests[0]!.isAborted);
    t.pass();
  });
}
