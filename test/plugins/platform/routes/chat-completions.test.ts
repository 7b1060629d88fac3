import { once } from 'node:events';
import http from 'node:http';
import test, { type ExecutionContext } from 'ava';
import {
  endlessStream,
  type FakeProvider,
  failure,
  json,
  type ProviderScript,
  plain,
  rawStream,
  silence,
  sse,
  startFakeProvider,
  stream,
} from '../../../support/fake-provider.ts';
import { settled, until } from '../../../support/until.ts';
import { type PlatformGateway, startPlatform } from '../platform-gateway.ts';
import { type Answer, eventsOf, sharedChats } from './chat-kit.ts';

const CHAT = '/v1/chat/completions';
const USER = { role: 'user', content: 'Hi' };
const startShared = sharedChats();

/** A gateway whose model `default` is a provider with the given scripts. */
async function startChat(
  t: ExecutionContext,
  ...scripts: ProviderScript[]
): Promise<{ gateway: PlatformGateway; provider: FakeProvider; chat: (body: object) => Promise<Answer> }> {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const env = {
    LLM_API_URL: provider.url,
    LLM_API_KEY: 'sk-provider',
    LLM_MODEL: 'fake-model',
    LLM_MAX_RETRIES: '0',
    // What is provisioned for a tenant would come into some of the prompts.
    OBJECT_STORE_URL: 'none',
  };
  const gateway = await startPlatform(t, { env });
  const chat = (body: object) =>
    gateway.request(CHAT, { method: 'POST', body: { model: 'default', messages: [USER], ...body } });
  return { gateway, provider, chat };
}

test("an answer carries the gateway's id and the model that was asked for", async (t) => {
  const { chat } = await startShared([plain('Hello.')]);
  const { status, body } = await chat({});
  t.is(status, 200);
  t.regex(body.id, /^chatcmpl-[0-9a-f]{8}-[0-9a-f-]{27}$/);
  t.is(body.object, 'chat.completion');
  t.is(body.model, 'default');
  t.true(Math.abs(body.created - Date.now() / 1000) < 60);
  t.deepEqual(body.choices, [
    { index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' },
  ]);
  t.deepEqual(body.usage, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 });
});

test('everything that a client may say reaches the provider as it was said', async (t) => {
  const { chat, provider, gateway } = await startShared();
  const request = {
    messages: [
      { role: 'developer', content: 'Be short.', name: 'boss' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'A cat.' },
      USER,
    ],
    temperature: 0.5,
    top_p: 1,
    max_tokens: 5,
    max_completion_tokens: null,
    stop: ['\n', 'END'],
    n: 1,
    tools: [
      {
        type: 'function',
        function: { name: 'look', parameters: { type: 'object', properties: {} }, strict: true },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'look' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
    seed: 7,
    user: 'u-1',
    reasoning_effort: 'low',
    logit_bias: { 50: 1 },
    metadata: { a: 'b' },
  };
  t.is((await chat(request)).status, 200);
  const sent = provider.requests[0]!;
  t.deepEqual(sent.body, { ...request, model: 'fake-model', stream: false });
  t.is(sent.headers.authorization, 'Bearer provider-key');
  t.false(JSON.stringify(sent.headers).includes(gateway.token));
});

test('metadata of what is stored stay with the gateway: OpenAI takes them with `store` alone', async (t) => {
  const { gateway, provider } = await startChat(t);
  const body = { model: 'default', messages: [USER], store: true, metadata: { a: 'b' }, seed: 7 };
  for (const path of [CHAT, '/v1/agent/chat'])
    t.is((await gateway.request(path, { method: 'POST', body })).status, 200);
  for (const { body: sent } of provider.requests) {
    const { store, metadata, seed } = sent as Record<string, unknown>;
    t.deepEqual([store, metadata, seed], [undefined, undefined, 7]);
  }
  t.is(provider.requests.length, 2);
});

test('request id and trace context travel to the provider', async (t) => {
  const { gateway, provider } = await startChat(t);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await gateway.request(CHAT, {
    method: 'POST',
    body: { model: 'default', messages: [USER] },
    headers: { traceparent, 'x-request-id': 'request-7' },
  });
  t.is(provider.requests[0]?.headers['x-request-id'], 'request-7');
  t.regex(String(provider.requests[0]?.headers.traceparent), /^00-0af7651916cd43dd8448eb211c80319c-/);
});

test('a stream is role, contents, finish_reason, [DONE], under one id of the gateway', async (t) => {
  const { chat, provider } = await startShared([stream(['Hello', ' world'])]);
  const answer = await chat({ stream: true });
  t.is(answer.status, 200);
  t.regex(answer.headers.get('content-type')!, /^text\/event-stream/);
  const events = eventsOf(answer).map(({ data }) => data);
  t.is(events.pop(), '[DONE]');
  t.is(events[0].choices[0].delta.role, 'assistant');
  t.is(events.map((chunk) => chunk.choices[0].delta.content ?? '').join(''), 'Hello world');
  t.is(events.at(-1).choices[0].finish_reason, 'stop');
  t.is(new Set(events.map(({ id }) => id)).size, 1);
  t.regex(events[0].id, /^chatcmpl-[0-9a-f-]{36}$/);
  for (const chunk of events) {
    t.like(chunk, { object: 'chat.completion.chunk', model: 'default' });
    t.false('usage' in chunk);
    t.is(chunk.choices.length, 1);
  }
  // The gateway meters, whether or not the client wants to know.
  t.true(provider.requests[0]?.body.stream_options.include_usage);
});

test('usage comes in a chunk of its own before [DONE], where it was asked for', async (t) => {
  const { chat } = await startShared([stream()]);
  const events = eventsOf(await chat({ stream: true, stream_options: { include_usage: true } }));
  t.is(events.at(-1)?.data, '[DONE]');
  t.like(events.at(-2)?.data, { choices: [], usage: { total_tokens: 12 } });
  t.is(events.at(-3)?.data.choices[0].finish_reason, 'stop');
  t.true(events.slice(0, -2).every(({ data }) => data.usage === null));
});

const STATUSES: readonly [number, number, string, string][] = [
  [400, 400, 'invalid_request_error', 'model.rejected'],
  [401, 502, 'server_error', 'model.upstream'],
  [403, 502, 'server_error', 'model.upstream'],
  [404, 502, 'server_error', 'model.unknown-to-provider'],
  [429, 429, 'rate_limit_error', 'model.rate-limited'],
  [500, 502, 'server_error', 'model.upstream'],
  [503, 502, 'server_error', 'model.upstream'],
];

for (const [theirs, ours, type, code] of STATUSES) {
  test(`a provider's ${theirs} is a ${ours}, plain and streamed alike`, async (t) => {
    const { chat } = await startChat(t, failure(theirs, theirs === 429 ? { 'retry-after': '7' } : {}));
    for (const stream of [false, true]) {
      const { status, body, headers } = await chat({ stream });
      t.is(status, ours);
      t.regex(headers.get('content-type')!, /^application\/json/);
      t.like(body.error, { type, code });
      t.is(headers.get('retry-after'), theirs === 429 ? '7' : null);
      t.false(JSON.stringify(body).includes('sk-provider'));
    }
  });
}

test("a provider's failure text and address stay inside", async (t) => {
  const { chat, provider } = await startChat(t, json(500, { error: { message: 'stack at secret-host' } }));
  const { body } = await chat({});
  t.false(JSON.stringify(body).includes('secret-host'));
  t.false(JSON.stringify(body).includes(String(provider.port)));
});

test('a stream that breaks ends with an error and [DONE], and with no finish_reason', async (t) => {
  const { chat } = await startShared([stream(['Hello', ' world'], { cutAfter: 2 })]);
  const answer = await chat({ stream: true });
  t.is(answer.status, 200);
  const events = eventsOf(answer);
  t.is(events.at(-1)?.data, '[DONE]');
  t.is(events.at(-2)?.event, 'error');
  t.like(events.at(-2)?.data.error, { type: 'server_error', code: 'model.upstream', param: null });
  const chunks = events.slice(0, -2);
  t.true(chunks.length > 0);
  t.true(chunks.every(({ data }) => data.choices[0].finish_reason === null));
});

test('an error that a provider tells at the start of its stream is a status', async (t) => {
  const { chat } = await startChat(t, rawStream(sse({ error: { message: 'overloaded' } })));
  const { status, body } = await chat({ stream: true });
  t.is(status, 502);
  t.is(body.error.code, 'model.upstream');
});

test('a client that leaves ends the call at the provider, plain or streaming', async (t) => {
  const { gateway, provider } = await startShared([stream(['a', 'b'], { hangAfter: 2 }), silence()]);
  for (const [index, isStream] of [true, false].entries()) {
    const left = new AbortController();
    const body = { model: 'default', messages: [USER], stream: isStream };
    const answer = gateway.request(CHAT, { method: 'POST', body, signal: left.signal });
    await until(() => provider.requests.length === index + 1);
    left.abort();
    await t.throwsAsync(answer, { name: 'AbortError' });
    await until(() => provider.requests[index]!.isAborted);
  }
  // The gateway serves on.
  t.is((await gateway.request('/v1/me')).status, 200);
});

test('a client that does not read holds the provider back', async (t) => {
  const { gateway, provider } = await startChat(t, endlessStream());
  const request = http.request(`${gateway.url}${CHAT}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
  });
  request.end(JSON.stringify({ model: 'default', messages: [USER], stream: true }));
  const [response] = await once(request, 'response');
  response.pause();
  await settled(() => provider.requests[0]?.bytesWritten);
  t.true(provider.requests[0]?.isBlocked);
  // The rest lies in the sockets' own buffers, on both sides of the gateway.
  t.true(provider.requests[0]!.bytesWritten < 64 << 20);
  response.destroy();
  await until(() => provider.requests[0]!.isAborted);
});

const BAD: readonly [string, object, string][] = [
  ['no messages', { messages: undefined }, 'messages'],
  ['an empty conversation', { messages: [] }, 'messages'],
  ['a role that nobody has', { messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
  ['a message without a role', { messages: [USER, { content: 'x' }] }, 'messages[1].role'],
  ['content that is a number', { messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
  ['a user without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
  [
    'a part without a type',
    { messages: [{ role: 'user', content: [{ text: 'x' }] }] },
    'messages[0].content[0].type',
  ],
  [
    'a tool result without its call',
    { messages: [{ role: 'tool', content: 'x' }] },
    'messages[0].tool_call_id',
  ],
  ['two answers', { n: 2 }, 'n'],
  ['a temperature out of range', { temperature: 2.1 }, 'temperature'],
  ['no tokens', { max_tokens: 0 }, 'max_tokens'],
  ['a stream that is a word', { stream: 'yes' }, 'stream'],
  ['tools that are no list', { tools: {} }, 'tools'],
  ['no model', { model: undefined }, 'model'],
  ['an empty model', { model: '' }, 'model'],
];

test('what is wrong is told by name, and no provider is asked', async (t) => {
  const { chat, provider } = await startShared();
  for (const [title, body, param] of BAD) {
    const answer = await chat(body);
    t.is(answer.status, 400, title);
    t.like(answer.body.error, { type: 'invalid_request_error', code: 'request.invalid', param }, title);
    t.true(answer.body.error.message.includes(param), title);
  }
  t.is(provider.requests.length, 0);
});

test('what OpenAI takes as absent is absent', async (t) => {
  const { chat } = await startShared();
  const names = [
    'temperature',
    'top_p',
    'max_tokens',
    'stop',
    'n',
    'seed',
    'user',
    'stream',
    'stream_options',
    'store',
    'tools',
  ];
  const { status } = await chat(Object.fromEntries(names.map((name) => [name, null])));
  t.is(status, 200);
});

test('an unknown model is 404, and an unreadable body 400, in OpenAI’s form', async (t) => {
  const { chat, gateway } = await startShared();
  const unknown = await chat({ model: 'none' });
  t.is(unknown.status, 404);
  t.like(unknown.body.error, { type: 'not_found_error', code: 'model_not_found', param: 'model' });
  const headers = { 'content-type': 'application/json' };
  const malformed = await gateway.request(CHAT, { method: 'POST', headers, body: '{"model":' });
  t.is(malformed.status, 400);
  t.is(malformed.body.error.type, 'invalid_request_error');
  const form = await gateway.request(CHAT, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: 'x',
  });
  t.is(form.status, 415);
});

test('a message of several megabytes passes, one above 16 MiB is refused', async (t) => {
  const { chat, provider } = await startShared();
  const text = 'x'.repeat(8 << 20);
  t.is((await chat({ messages: [{ role: 'user', content: text }] })).status, 200);
  t.is(provider.requests[0]?.body.messages.at(-1).content.length, text.length);
  const { status, body } = await chat({ messages: [{ role: 'user', content: text + text }] });
  t.is(status, 413);
  t.is(body.error.type, 'invalid_request_error');
});

test('chat needs the role user and the scope execute alone', async (t) => {
  const { gateway } = await startShared();
  const body = { model: 'demo', messages: [USER] };
  for (const [settings, status] of [
    [{ roles: ['user'] }, 200],
    [{ roles: ['user'], scopes: ['execute'] }, 200],
    [{ roles: ['user'], scopes: ['read', 'write'] }, 403],
    [{ roles: ['admin'] }, 200],
    [{ roles: ['owner'] }, 200],
    [{ roles: ['auditor'] }, 403],
  ] as const) {
    const { key: token } = await gateway.key(settings);
    const answer = await gateway.request(CHAT, { method: 'POST', token, body });
    t.is(answer.status, status, JSON.stringify(settings));
    if (status === 403) t.is(answer.body.error.type, 'permission_error');
  }
  const anonymous = await gateway.request(CHAT, { method: 'POST', token: null, body });
  t.is(anonymous.status, 401);
  t.is(anonymous.body.error.type, 'authentication_error');
});

test('open streams count against the limit of streams, plain answers do not', async (t) => {
  const provider = await startFakeProvider(({ request, response }) => {
    if (request.body.stream !== true) return plain()({ request, response } as never);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sse({ choices: [{ index: 0, delta: { content: 'a' } }] }));
  });
  t.teardown(() => provider[Symbol.asyncDispose]());
  const env = { LLM_API_URL: provider.url, LLM_MODEL: 'fake-model', SVC_MAX_STREAMS_PER_USER: '1' };
  const gateway = await startPlatform(t, { env });
  const left = new AbortController();
  const body = { model: 'default', messages: [USER] };
  const open = gateway.request(CHAT, {
    method: 'POST',
    body: { ...body, stream: true },
    signal: left.signal,
  });
  await until(() => provider.requests.length === 1);
  const refused = await gateway.request(CHAT, { method: 'POST', body: { ...body, stream: true } });
  t.is(refused.status, 429);
  t.is(refused.headers.get('retry-after'), '30');
  t.is((await gateway.request(CHAT, { method: 'POST', body })).status, 200);
  left.abort();
  await t.throwsAsync(open);
});

test('requests of one tenant that break the provider do not take it from the others', async (t) => {
  const script: ProviderScript = (exchange) =>
    (JSON.stringify(exchange.request.body).includes('Break.') ? failure(500) : stream(['Hello']))(exchange);
  const { gateway, provider } = await startChat(t, script);
  const [guilty, other] = [await gateway.makeTenant(), await gateway.makeTenant()];
  for (const route of [CHAT, '/v1/agent/chat']) {
    const ask = async ({ token }: { readonly token: string }, content: string) => {
      const body = { model: 'default', messages: [{ role: 'user', content }], stream: true };
      return (await gateway.request(route, { method: 'POST', token, body })).status;
    };
    for (let failed = 0; failed < 5; failed += 1) t.is(await ask(guilty, 'Break.'), 502);
    const { length } = provider.requests;
    t.not(await ask(guilty, 'Hello?'), 200);
    t.is(provider.requests.length, length);
    t.is(await ask(other, 'Hello?'), 200);
  }
});
