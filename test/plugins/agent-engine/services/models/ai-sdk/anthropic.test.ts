import test from 'ava';
import { joinAnswer } from '../../../../../../plugins/agent-engine/services/loop/answer.ts';
import { anthropic, anthropicErrorEvent, anthropicEvents } from '../../../../../support/fake-anthropic.ts';
import { rawStream, startFakeProvider } from '../../../../../support/fake-provider.ts';
import { API_KEY, ask, collect, context, failureOf, textOf } from '../calls.ts';
import { clientOf, warningsOf } from './clients.ts';

const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Tells the weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;

test('a conversation reaches Anthropic in its own format', async (t) => {
  await using provider = await startFakeProvider(anthropic());
  await using client = await clientOf('anthropic', provider.url);
  const image = `data:image/png;base64,${Buffer.from('png').toString('base64')}`;
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'weather', arguments: '{"city":"Oslo"}' },
  };
  await client.complete(
    {
      model: 'claude-sonnet-4-5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral' } },
            { type: 'image_url', image_url: { url: image } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [call as never] },
        { role: 'tool', tool_call_id: 'call_1', content: 'Rain' },
        { role: 'user', content: 'And now?' },
      ],
      max_tokens: 100,
      temperature: 0.5,
      stop: 'END',
      user: 'u-1',
      tools: [WEATHER],
      tool_choice: 'required',
      parallel_tool_calls: false,
    },
    context(),
  );
  const [request] = provider.requests;
  t.is(request?.path, '/v1/messages');
  t.like(request?.headers, { 'x-api-key': API_KEY, 'x-request-id': 'request-1' });
  t.like(request?.body, {
    model: 'claude-sonnet-4-5',
    max_tokens: 100,
    temperature: 0.5,
    stop_sequences: ['END'],
    system: [{ type: 'text', text: 'Be brief.' }],
    metadata: { user_id: 'u-1' },
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
  });
  t.like(request?.body.tools[0], { name: 'weather', description: 'Tells the weather' });
  t.deepEqual(request?.body.tools[0].input_schema.required, ['city']);
  const [first, second, third] = request!.body.messages;
  t.deepEqual(first.content, [
    { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'cG5n' } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
  ]);
  t.like(second.content[0], { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } });
  t.like(third.content[0], { type: 'tool_result', tool_use_id: 'call_1' });
  t.is(third.content[1].text, 'And now?');
});

test('a whole answer has text, thoughts, calls, its reason and all counts', async (t) => {
  await using provider = await startFakeProvider(
    anthropic({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'sig-1' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } },
      ],
      stop_reason: 'tool_use',
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 30,
        cache_creation_input_tokens: 7,
      },
    }),
  );
  await using client = await clientOf('anthropic', provider.url);
  const completion = await client.complete(ask('Weather?', { tools: [WEATHER] }), context());
  t.is(completion.id, 'msg_fake');
  const [choice] = completion.choices;
  t.is(choice?.finish_reason, 'tool_calls');
  t.like(choice?.message, { role: 'assistant', content: 'Let me look.', reasoning_content: 'Hm.' });
  t.like(choice?.message.tool_calls?.[0], {
    id: 'toolu_1',
    type: 'function',
    function: { name: 'weather', arguments: '{"city":"Oslo"}' },
  });
  t.deepEqual(completion.usage, {
    prompt_tokens: 47,
    completion_tokens: 5,
    total_tokens: 52,
    prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 7 },
  });
});

test('a stream has role, thoughts, text, arguments in pieces, the reason, and one chunk of usage', async (t) => {
  await using provider = await startFakeProvider(
    anthropic({
      content: [
        { type: 'thinking', thinking: 'Well, well.', signature: 'sig-1' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} },
      ],
      stop_reason: 'tool_use',
    }),
  );
  await using client = await clientOf('anthropic', provider.url);
  const chunks = await collect(client.stream(ask('Weather?', { tools: [WEATHER] }), context()));
  t.is(chunks[0]?.choices[0]?.delta.role, 'assistant');
  t.is(textOf(chunks), 'Let me look.');
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  t.is(deltas.map(({ reasoning_content }) => reasoning_content ?? '').join(''), 'Well, well.');
  const calls = deltas.flatMap(({ tool_calls }) => tool_calls ?? []);
  t.deepEqual(
    calls
      .filter(({ id }) => id !== undefined)
      .map(({ index, id, function: called }) => [index, id, called?.name]),
    [
      [0, 'toolu_1', 'weather'],
      [1, 'toolu_2', 'weather'],
    ],
  );
  const argumentsOf = (index: number) =>
    calls.filter((call) => call.index === index).map(({ function: called }) => called?.arguments ?? '');
  t.is(argumentsOf(0).join(''), '{"city":"Oslo"}');
  t.true(argumentsOf(0).filter((piece) => piece !== '').length > 1);
  t.is(argumentsOf(1).join(''), '{}');
  t.deepEqual(
    chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason }) => finish_reason ?? [])),
    ['tool_calls'],
  );
  t.deepEqual(
    chunks.flatMap(({ usage }) => usage ?? []),
    [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }],
  );
  t.deepEqual(chunks.at(-1)?.choices, []);
});

test('calls with the id of another get one of their own, whole and streamed', async (t) => {
  const call = (city: string) => ({ type: 'tool_use', id: 'x', name: 'weather', input: { city } }) as const;
  const answer = anthropic({ content: [call('Oslo'), call('Rome')], stop_reason: 'tool_use' });
  await using provider = await startFakeProvider(answer, answer);
  await using client = await clientOf('anthropic', provider.url);
  const asked = ask('Weather?', { tools: [WEATHER] });
  const whole = await client.complete(asked, context());
  const joined = joinAnswer();
  for (const chunk of await collect(client.stream(asked, context()))) joined.add(chunk);
  for (const calls of [whole.choices[0]!.message.tool_calls!, joined.answer().calls]) {
    t.deepEqual(
      calls.map(({ function: { arguments: given } }) => given),
      ['{"city":"Oslo"}', '{"city":"Rome"}'],
    );
    t.is(calls[0]!.id, 'x');
    t.regex(calls[1]!.id, /^call_/);
  }
});

test('thoughts go back to Anthropic with their signature, and none are asked for where it is lost', async (t) => {
  await using provider = await startFakeProvider(
    anthropic({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'sig-1' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
      ],
      stop_reason: 'tool_use',
    }),
  );
  const { log, warnings } = warningsOf();
  await using client = await clientOf('anthropic', provider.url, { log });
  const request = ask('Weather?', { tools: [WEATHER], reasoning_effort: 'low' });
  const { message } = (await client.complete(request, context())).choices[0]!;
  const result = { role: 'tool', tool_call_id: 'toolu_1', content: 'Rain' };
  const next = (answer: typeof message) => ({ ...request, messages: [...request.messages, answer, result] });
  await client.complete(next(message), context());
  const { reasoning_details: _, ...plain } = message;
  await client.complete(next(plain), context());
  const [first, kept, lost] = provider.requests.map(({ body }) => body);
  t.is(first.thinking.type, 'enabled');
  t.is(kept.thinking.type, 'enabled');
  t.deepEqual(kept.messages[1].content[0], { type: 'thinking', thinking: 'Hm.', signature: 'sig-1' });
  t.is(lost.thinking, undefined);
  t.true(warnings.some((warning) => warning.includes('reasoning_details')));
  // Streamed thoughts are kept in the same way.
  const chunks = await collect(client.stream(request, context()));
  t.deepEqual(
    chunks.flatMap(({ choices }) => choices[0]?.delta.reasoning_details ?? []),
    message.reasoning_details as never,
  );
});

for (const [stop_reason, expected] of [
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['refusal', 'content_filter'],
] as const) {
  test(`Anthropic's ${stop_reason} is ${expected}`, async (t) => {
    await using provider = await startFakeProvider(anthropic({ stop_reason }));
    await using client = await clientOf('anthropic', provider.url);
    t.is((await client.complete(ask(), context())).choices[0]?.finish_reason, expected);
    const chunks = await collect(client.stream(ask(), context()));
    t.is(chunks.findLast(({ choices }) => choices.length > 0)?.choices[0]?.finish_reason, expected);
  });
}

test('an answer in the form of a JSON schema is the JSON text', async (t) => {
  await using provider = await startFakeProvider(anthropic({ content: [{ type: 'text', text: '{"a":1}' }] }));
  await using client = await clientOf('anthropic', provider.url);
  const schema = { type: 'object', properties: { a: { type: 'number' } }, additionalProperties: false };
  const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } } as const;
  const completion = await client.complete(ask('Hi', { response_format }), context());
  t.is(completion.choices[0]?.message.content, '{"a":1}');
  t.true(JSON.stringify(provider.requests[0]?.body).includes('"a":{"type":"number"}'));
});

test('a stream that reports an error is a failure, before its first chunk and after it', async (t) => {
  const whole = anthropicEvents();
  const broken = whole.slice(0, 4);
  await using provider = await startFakeProvider(
    rawStream(whole[0]!, anthropicErrorEvent()),
    rawStream(...broken, anthropicErrorEvent('api_error', `key ${API_KEY} is bad`)),
    rawStream(...broken),
  );
  await using client = await clientOf('anthropic', provider.url);
  const early = client.stream(ask(), context())[Symbol.asyncIterator]();
  t.is((await failureOf(t, early.next())).code, 'model.upstream');
  for (const _ of ['error', 'end']) {
    const late = client.stream(ask(), context())[Symbol.asyncIterator]();
    t.is((await late.next()).value?.choices[0]?.delta.role, 'assistant');
    const error = await failureOf(
      t,
      (async () => {
        while (!(await late.next()).done);
      })(),
    );
    t.is(error.code, 'model.upstream');
    t.false(`${error.message} ${error.cause}`.includes(API_KEY));
  }
});
